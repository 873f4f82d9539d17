#include "service/metrics/rejects.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using namespace std::chrono_literals;

class RejectsTest : public ::testing::Test {
 protected:
  std::string Note(std::string_view stream, RejectReason reason = RejectReason::kEvent,
                   std::string_view detail = "why") {
    return rejects_.Note(stream, reason, detail, peer_, now_).value_or("");
  }
  double Counted(const std::string& stream, const std::string& reason) {
    for (const auto& family : registry_.Collect()) {
      for (const auto& metric : family.metric) {
        if (family.name == "tallyd_rejects_total" && metric.label[1].value == stream &&
            metric.label[0].value == reason) {
          return metric.counter.value;
        }
      }
    }
    return -1;
  }

  std::string_view peer_;
  prometheus::Registry registry_;
  Rejects rejects_{registry_};
  Rejects::Time now_ = Rejects::Time{} + 1h;
};

TEST_F(RejectsTest, EachIsCountedByStreamAndReason) {
  Note("server");
  Note("server");
  Note("server", RejectReason::kTooLarge);
  Note("");
  EXPECT_EQ(Counted("server", "event"), 2);
  EXPECT_EQ(Counted("server", "too_large"), 1);
  EXPECT_EQ(Counted("", "event"), 1);
  EXPECT_EQ(Counted("", "http"), 0);
}

TEST_F(RejectsTest, TheFirstIsToldAndThenHowManyThereWere) {
  EXPECT_EQ(Note("server"), "stream server: 1 refused (event), the last one: why");
  EXPECT_EQ(Note("server"), "");
  now_ += Rejects::kQuiet - 1ms;
  EXPECT_EQ(Note("server"), "");
  now_ += 1ms;
  EXPECT_EQ(Note("server", RejectReason::kEvent, "again"),
            "stream server: 3 refused (event), the last one: again");
}

TEST_F(RejectsTest, TheLineSaysWhoSentTheLastOne) {
  peer_ = "10.0.0.7:4711";
  EXPECT_EQ(Note("server"), "stream server: 1 refused (event), the last one by 10.0.0.7:4711: why");
}

TEST_F(RejectsTest, StreamsAndReasonsAreToldApart) {
  EXPECT_NE(Note("server"), "");
  EXPECT_NE(Note("server", RejectReason::kHttp), "");
  EXPECT_NE(Note("meter"), "");
  EXPECT_EQ(Note(""), "writes to no stream: 1 refused (event), the last one: why");
}

TEST_F(RejectsTest, AllTogetherAreAFewLinesASecond) {
  size_t lines = 0;
  for (int i = 0; i < 1000; ++i) lines += Note(std::to_string(i)).empty() ? 0 : 1;
  EXPECT_EQ(lines, Rejects::kLinesPerSecond);
  now_ += 1s;
  EXPECT_EQ(Note("999"), "stream 999: 2 refused (event), the last one: why");
}

TEST_F(RejectsTest, ALongDetailIsCut) {
  const std::string line = Note("server", RejectReason::kEvent, std::string(10'000, 'x'));
  EXPECT_LT(line.size(), 300u);
  EXPECT_TRUE(line.ends_with("x..."));
}

}  // namespace
}  // namespace tallyd

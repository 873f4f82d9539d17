// A sample is summed up, and what is wrong with it is named by file and line.
#include "tools/advise/sample.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tallyd {
namespace {

class SampleTest : public testing::Test {
 protected:
  ~SampleTest() override { std::filesystem::remove(path_); }

  Result<Sample> Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return ReadSample(path_, {"server", "ts", TimeUnit::kMilliseconds, {"host"}});
  }
  void ExpectRefused(const std::string& text, uint64_t line, const std::string& why) {
    const Result<Sample> sample = Read(text);
    ASSERT_FALSE(sample) << text;
    const std::string said = sample.error().message();
    EXPECT_NE(said.find(path_ + ":" + std::to_string(line) + ": "), std::string::npos) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }

  const std::string path_ = testing::TempDir() + "sample-" + std::to_string(::getpid()) + "-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SampleTest, EventsAreCountedByEntityAndTime) {
  const Sample sample = Read(
                            "{\"ts\":1000,\"host\":\"a\",\"v\":1}\n"
                            "{\"ts\":3000,\"host\":\"b\",\"v\":1}\n"
                            "{\"ts\":2000,\"host\":\"a\",\"v\":1}\n")
                            .value();
  EXPECT_EQ(sample.events, 3u);
  EXPECT_EQ(sample.entities, (std::map<Sample::Entity, uint64_t>{{{"a"}, 2}, {{"b"}, 1}}));
  EXPECT_EQ(sample.times, (TimeRange{1'000'000, 3'000'001}));
  EXPECT_DOUBLE_EQ(sample.EventsIn(4'000'000), 1);
  EXPECT_TRUE(sample.timed);
  EXPECT_FALSE(sample.cut);
}

TEST_F(SampleTest, AnEmptySampleIsRefused) {
  for (const char* text : {"", "\n\n"}) {
    const Result<Sample> sample = Read(text);
    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().message().find("no event"), std::string::npos);
  }
}

TEST_F(SampleTest, WhatIsNoEventIsNamedByItsLine) {
  const std::string good = "{\"ts\":1000,\"host\":\"a\"}\n\n";
  ExpectRefused(good + "{\"ts\":\n", 3, "");
  ExpectRefused(good + "{\"ts\":1,\"host\":[1]}\n", 3, "host");
  ExpectRefused(good + "{\"ts\":1,\"v\":1}\n", 3, "host");
  ExpectRefused(good + "{\"ts\":\"noon\",\"host\":\"a\"}\n", 3, "ts");
}

}  // namespace
}  // namespace tallyd

#include "ingest/times/time_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tallyd {
namespace {

using ::testing::HasSubstr;

constexpr TimeUs kNow = 1'700'000'000 * kUsPerSecond;

Stream StreamOf(TimeUnit unit, std::optional<int64_t> max_future_us = 2 * kUsPerDay) {
  Stream stream;
  stream.name = "server";
  stream.unit = unit;
  stream.guards.max_future_us = max_future_us;
  return stream;
}

TEST(TimeGuardTest, TakesWhatIsWithinItsBounds) {
  const TimeGuard guard(StreamOf(TimeUnit::kMilliseconds), kNow);
  const TimeUs least = IngestGuards().min_time;
  EXPECT_TRUE(guard.Takes(least));
  EXPECT_FALSE(guard.Takes(least - 1));
  EXPECT_TRUE(guard.Takes(kNow + 2 * kUsPerDay));
  EXPECT_FALSE(guard.Takes(kNow + 2 * kUsPerDay + 1));
  EXPECT_TRUE(TimeGuard().Takes(0));
  EXPECT_TRUE(TimeGuard().Takes(kMaxTimeUs));
  EXPECT_TRUE(TimeGuard(StreamOf(TimeUnit::kSeconds, std::nullopt), kNow).Takes(kMaxTimeUs));
}

TEST(TimeGuardTest, SaysWhatWasFoundAndWhatIsWrongWithIt) {
  const TimeGuard guard(StreamOf(TimeUnit::kSeconds), kNow);
  const Error early = guard.WhyNot("ts", Value::Int(5), 5 * kUsPerSecond, kNow);
  EXPECT_EQ(early.code(), ErrorCode::kInvalid);
  EXPECT_EQ(early.message(),
            "field \"ts\": 5 s is 1970-01-01T00:00:05Z, earlier than min_time, "
            "1973-03-03T09:46:40Z; times beyond the bounds of [ingest] or streams.server are taken "
            "with guards=off");
  const Error late = guard.WhyNot("ts", Value::String("2100-01-01T00:00:00Z"),
                                  4'102'444'800 * kUsPerSecond, kNow);
  EXPECT_EQ(late.code(), ErrorCode::kInvalid);
  EXPECT_THAT(late.message(), HasSubstr("\"2100-01-01T00:00:00Z\", more than max_future, 2d"));
}

TEST(TimeGuardTest, TellsAWrongClockFromAWrongEvent) {
  const TimeUs behind = kNow - 30 * kUsPerDay;
  const Value sent = Value::Int(kNow / kUsPerMs);
  const TimeGuard guard(StreamOf(TimeUnit::kMilliseconds), behind);
  EXPECT_EQ(guard.WhyNot("ts", sent, kNow, kNow).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(guard.WhyNot("ts", sent, kNow, behind).code(), ErrorCode::kInvalid);
  for (const TimeUs now : {-kUsPerDay, TimeUs{0}, IngestGuards().min_time - 1}) {
    const TimeGuard early(StreamOf(TimeUnit::kMilliseconds), now);
    EXPECT_EQ(early.WhyNot("ts", sent, kNow, 0).code(), ErrorCode::kUnavailable) << now;
    EXPECT_EQ(early.WhyNot("ts", Value::Int(1), kUsPerMs, 0).code(), ErrorCode::kInvalid)
        << "too early by any clock";
  }
}

}  // namespace
}  // namespace tallyd

#include "service/nightly/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kHour = 3600 * kUsPerSecond;
constexpr int64_t kMinute = 60 * kUsPerSecond;
constexpr TimeUs kDay = 17'373 * kUsPerDay;
constexpr TimeUs kNext = kDay + kUsPerDay;

Daily HalfPastMidnight(std::optional<int64_t> keep_us = {}) {
  Daily daily = *ParseDailyName("S_{date}");
  daily.keep_us = keep_us;
  return daily;
}

NightlyRecord Built(TimeUs day) {
  NightlyRecord record;
  record.day = day;
  record.is_built = true;
  record.lives_from = day + kUsPerDay;
  record.built_at = record.lives_from + 30 * kMinute;
  return record;
}

TEST(ScheduleTest, ADayIsDueAtTheQuietHourOfTheDayAfter) {
  EXPECT_THAT(DueDays(HalfPastMidnight(), {}, kNext + 30 * kMinute - 1),
              ElementsAre(kDay - kUsPerDay));
  EXPECT_THAT(DueDays(HalfPastMidnight(), {}, kNext + 30 * kMinute), ElementsAre(kDay));
  EXPECT_THAT(DueDays(HalfPastMidnight(), {}, kNext + 24 * kHour), ElementsAre(kDay));
}

TEST(ScheduleTest, ADayWhoseTableIsThereIsNotDue) {
  EXPECT_THAT(DueDays(HalfPastMidnight(), {Built(kDay)}, kNext + kHour), IsEmpty());
}

TEST(ScheduleTest, DaysThatPassedSinceTheNewestTableAreMadeGood) {
  const TimeUs now = kNext + kHour;
  EXPECT_THAT(DueDays(HalfPastMidnight(), {Built(kDay - 3 * kUsPerDay)}, now),
              ElementsAre(kDay, kDay - kUsPerDay, kDay - 2 * kUsPerDay));
  EXPECT_THAT(DueDays(HalfPastMidnight(), {Built(kDay - 40 * kUsPerDay)}, now), ElementsAre(kDay));
}

TEST(ScheduleTest, WhatIsPastItsKeepIsNotDue) {
  EXPECT_THAT(DueDays(HalfPastMidnight(kHour), {}, kNext + 2 * kHour), IsEmpty());
  EXPECT_THAT(
      DueDays(HalfPastMidnight(2 * kUsPerDay), {Built(kDay - 5 * kUsPerDay)}, kNext + kHour),
      ElementsAre(kDay, kDay - kUsPerDay));
}

TEST(ScheduleTest, NothingIsDueBeforeTheFirstDay) {
  EXPECT_THAT(DueDays(HalfPastMidnight(), {}, 0), IsEmpty());
  EXPECT_THAT(DueDays(HalfPastMidnight(), {}, kUsPerDay + kHour), ElementsAre(0));
}

TEST(ScheduleTest, ATableThatIsBehindIsMadeAgainAtTheNextQuietHour) {
  NightlyRecord record = Built(kDay);
  record.took_us = 10 * kHour;
  EXPECT_FALSE(IsRebuildDue(HalfPastMidnight(), record, kNext + 24 * kHour));
  EXPECT_TRUE(IsRebuildDue(HalfPastMidnight(), record, kNext + kUsPerDay + 30 * kMinute));
}

TEST(ScheduleTest, ATableThatIsBehindIsMadeAgainSoonerWhereThatIsCheap) {
  NightlyRecord record = Built(kDay);
  EXPECT_FALSE(IsRebuildDue(HalfPastMidnight(), record, record.built_at + kLeastRebuildUs - 1));
  EXPECT_TRUE(IsRebuildDue(HalfPastMidnight(), record, record.built_at + kLeastRebuildUs));
  record.took_us = kMinute;
  EXPECT_FALSE(IsRebuildDue(HalfPastMidnight(), record, record.built_at + 19 * kMinute));
  EXPECT_TRUE(IsRebuildDue(HalfPastMidnight(), record, record.built_at + 20 * kMinute));
}

TEST(ScheduleTest, AClockThatWentBackHoldsNothingUp) {
  NightlyRecord record = Built(kDay);
  record.took_us = 10 * kHour;
  EXPECT_TRUE(IsRebuildDue(HalfPastMidnight(), record, record.built_at - 1));
}

TEST(ScheduleTest, ATableLivesForKeepFromTheEndOfItsDay) {
  const Daily daily = HalfPastMidnight(90 * kUsPerDay);
  EXPECT_EQ(LifeBegins(daily, kDay, kNext + kHour), kNext);
  EXPECT_EQ(LifeEnds(daily, Built(kDay)), kNext + 90 * kUsPerDay);
  EXPECT_EQ(LifeEnds(HalfPastMidnight(), Built(kDay)), std::nullopt);
  EXPECT_EQ(LifeEnds(HalfPastMidnight(std::numeric_limits<int64_t>::max()), Built(kDay)),
            std::nullopt);
}

TEST(ScheduleTest, OneThatIsAskedForTooLateLivesForKeepFromThenOn) {
  const TimeUs years_later = kNext + 3000 * kUsPerDay;
  EXPECT_EQ(LifeBegins(HalfPastMidnight(90 * kUsPerDay), kDay, years_later), years_later);
  EXPECT_EQ(LifeBegins(HalfPastMidnight(), kDay, years_later), kNext);
}

}  // namespace
}  // namespace tallyd

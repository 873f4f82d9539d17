#include "storage/drain_rate.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using std::chrono::milliseconds;

constexpr DrainRate::Time kBegin{};
constexpr uint64_t kMiB = 1u << 20;

// So much a second, for so long, in steps of 100 ms; the time behind it.
DrainRate::Time Drain(DrainRate* rate, uint64_t per_second, int seconds, DrainRate::Time from) {
  for (int step = 0; step < 10 * seconds; ++step) {
    from += milliseconds(100);
    rate->Note(per_second / 10, from);
  }
  return from;
}

TEST(DrainRateTest, WhereNothingEverWentItIsASecond) {
  EXPECT_EQ(DrainRate().SecondsFor(1000 * kMiB, kBegin), 1u);
}

TEST(DrainRateTest, WhatGoesAtARateIsGoneWhenItSays) {
  DrainRate rate;
  const DrainRate::Time now = Drain(&rate, 10 * kMiB, 10, kBegin);
  EXPECT_EQ(rate.SecondsFor(1, now), 1u);
  EXPECT_NEAR(rate.SecondsFor(64 * kMiB, now), 7, 1);
  EXPECT_EQ(rate.SecondsFor(100'000 * kMiB, now), DrainRate::kMostSeconds);
}

TEST(DrainRateTest, ItFollowsAChangeWithinSeconds) {
  DrainRate rate;
  DrainRate::Time now = Drain(&rate, 100 * kMiB, 10, kBegin);
  now = Drain(&rate, 2 * kMiB, 10, now);
  EXPECT_NEAR(rate.SecondsFor(20 * kMiB, now), 10, 2);
  now = Drain(&rate, 100 * kMiB, 10, now);
  EXPECT_EQ(rate.SecondsFor(20 * kMiB, now), 1u);
}

TEST(DrainRateTest, WhereNothingGoesAnyMoreTheWaitGrows) {
  DrainRate rate;
  const DrainRate::Time now = Drain(&rate, 10 * kMiB, 5, kBegin);
  const unsigned at_once = rate.SecondsFor(20 * kMiB, now);
  const unsigned later = rate.SecondsFor(20 * kMiB, now + std::chrono::seconds(10));
  EXPECT_GT(later, 3 * at_once);
  EXPECT_EQ(rate.SecondsFor(20 * kMiB, now + std::chrono::hours(1)), DrainRate::kMostSeconds);
}

}  // namespace
}  // namespace tallyd

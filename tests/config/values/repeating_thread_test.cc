#include "config/values/repeating_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace tallyd {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(RepeatingThreadTest, DoesItAgainAndAgain) {
  std::latch thrice(3);
  std::atomic<int> times = 0;
  RepeatingThread thread;
  thread.Start(milliseconds(0), [&] {
    if (++times <= 3) thrice.count_down();
    return milliseconds(1);
  });
  thrice.wait();
  EXPECT_TRUE(thread.Stop());
  const int until_stopped = times;
  EXPECT_FALSE(thread.Stop());
  EXPECT_EQ(until_stopped, times);
}

TEST(RepeatingThreadTest, WaitsAsLongAsTheWorkSays) {
  std::latch done(1);
  int times = 0;
  RepeatingThread thread;
  thread.Start(milliseconds(0), [&] {
    ++times;
    done.count_down();
    return hours(1);
  });
  done.wait();
  EXPECT_TRUE(thread.Stop()) << "which ends the wait";
  EXPECT_EQ(1, times);
}

TEST(RepeatingThreadTest, DoesNothingBeforeTheFirstWaitIsOver) {
  int times = 0;
  {
    RepeatingThread thread;
    thread.Start(hours(1), [&] {
      ++times;
      return hours(1);
    });
  }
  EXPECT_EQ(0, times);
}

TEST(RepeatingThreadTest, WhatWasNotStartedNeedNoStop) { EXPECT_FALSE(RepeatingThread().Stop()); }

}  // namespace
}  // namespace tallyd

#include "service/helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tallyd {
namespace {

TEST(HelpersTest, EveryTaskRunsOnce) {
  for (const size_t threads : {0u, 1u, 3u}) {
    Helpers helpers(threads);
    for (const size_t count : {0u, 1u, 2u, 3u, 100u}) {
      std::vector<std::atomic<int>> calls(count);
      helpers.Run(count, [&](size_t i) { ++calls[i]; });
      for (const auto& called : calls) EXPECT_EQ(called, 1);
    }
  }
}

TEST(HelpersTest, TasksRunBesideEachOther) {
  Helpers helpers(1);
  std::latch both(2);
  helpers.Run(2, [&](size_t) { both.arrive_and_wait(); });
}

TEST(HelpersTest, ACallerWhoseHelpersAreBusyDoesItAlone) {
  Helpers helpers(1);
  std::latch begun(1);
  std::latch done(1);
  std::thread other([&] {
    helpers.Run(2, [&](size_t) {
      if (!begun.try_wait()) begun.count_down();
      done.wait();
    });
  });
  begun.wait();
  std::atomic<int> calls = 0;
  helpers.Run(10, [&](size_t) { ++calls; });
  EXPECT_EQ(calls, 10);
  done.count_down();
  other.join();
}

TEST(HelpersTest, WhatATaskThrowsReachesTheCallerWhenAllAreDone) {
  Helpers helpers(2);
  std::atomic<int> calls = 0;
  const auto task = [&](size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("three");
  };
  EXPECT_THROW(helpers.Run(8, task), std::runtime_error);
  EXPECT_EQ(calls, 8);
}

}  // namespace
}  // namespace tallyd

#include "storage/leveldb/seal/seal_job.h"

#include <gtest/gtest.h>

#include <limits>

namespace tallyd {
namespace {

TEST(SealJobTest, WhatIsDueInCenturiesIsLookedAtInAMinute) {
  for (const TimeUs left :
       {kUsPerDay, kMaxTimeUs, 2 * kMaxTimeUs, std::numeric_limits<TimeUs>::max()}) {
    const auto before = std::chrono::steady_clock::now();
    const SealJob::Time next = SealJob::LookAgain(left);
    EXPECT_GE(next, before + std::chrono::minutes(1)) << left;
    EXPECT_LE(next, std::chrono::steady_clock::now() + std::chrono::minutes(1)) << left;
  }
}

TEST(SealJobTest, WhatIsDueSoonIsLookedAtThen) {
  const auto before = std::chrono::steady_clock::now();
  const SealJob::Time next = SealJob::LookAgain(1000);
  EXPECT_GE(next, before + std::chrono::milliseconds(1));
  EXPECT_LT(next, std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

}  // namespace
}  // namespace tallyd

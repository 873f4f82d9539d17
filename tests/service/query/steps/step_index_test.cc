// Where steps are found is what a map says, however near to each other they lie.
#include "service/query/steps/step_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

namespace tallyd {
namespace {

TEST(StepIndexTest, EachStepOfEachGroupHasItsOwnNumber) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    StepIndex index;
    std::map<std::pair<uint32_t, int64_t>, uint32_t> model;
    const uint64_t groups = 1 + random() % 4;
    const uint64_t spread = uint64_t{1} << random() % 20;
    const int64_t move = static_cast<int64_t>(random() % 3) - 1;
    auto around = static_cast<int64_t>(random() % 1'000'000);
    for (uint32_t asked = 0; asked < 500; ++asked, around += move) {
      const auto group = static_cast<uint32_t>(random() % groups);
      const int64_t step = around + static_cast<int64_t>(random() % spread);
      const auto [known, is_new] = model.try_emplace({group, step}, asked);
      uint32_t* const number = index.Find(group, step);
      ASSERT_EQ(*number == StepIndex::kNone, is_new) << "round " << round;
      if (is_new) *number = asked;
      ASSERT_EQ(*number, known->second) << "round " << round;
    }
    for (const auto& [step, number] : model) {
      ASSERT_EQ(*index.Find(step.first, step.second), number) << "round " << round;
    }
  }
}

TEST(StepIndexTest, StepsMayLieAsFarApartAsNumbersCan) {
  StepIndex index;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  uint32_t count = 0;
  for (const int64_t step : {int64_t{0}, kMost, kLeast, kMost - 1, int64_t{-1}}) {
    *index.Find(0, step) = count++;
  }
  EXPECT_EQ(*index.Find(0, kMost), 1);
  EXPECT_EQ(*index.Find(0, kLeast), 2);
  EXPECT_EQ(*index.Find(0, kMost - 1), 3);
  EXPECT_EQ(*index.Find(0, kLeast + 1), StepIndex::kNone);
}

TEST(StepIndexTest, WhatIsClearedIsForgotten) {
  StepIndex index;
  *index.Find(3, 7) = 1;
  index.Clear();
  EXPECT_EQ(*index.Find(3, 7), StepIndex::kNone);
}

}  // namespace
}  // namespace tallyd

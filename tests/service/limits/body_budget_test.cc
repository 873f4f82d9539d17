#include "service/limits/body_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tallyd {
namespace {

constexpr uint64_t kKiB = 1u << 10;
constexpr uint64_t kMiB = 1u << 20;

PrincipalPtr TokenNamed(const std::string& name) {
  return std::make_shared<const Principal>(Principal{name, {Role::kWrite}, {}});
}

TEST(BodyBudgetTest, WhatIsSmallIsTakenWhateverOthersHold) {
  BodyBudget budget(kMiB);
  BodyCharge large(&budget);
  BodyCharge small(&budget);
  EXPECT_TRUE(large.Covers(kMiB));
  EXPECT_TRUE(small.Admits(16 * kKiB));
  EXPECT_TRUE(small.Covers(16 * kKiB));
  EXPECT_FALSE(small.Admits(17 * kKiB));
  EXPECT_FALSE(small.Covers(17 * kKiB));
  EXPECT_EQ(small.Refusal(17 * kKiB).code(), ErrorCode::kOverloaded);
  EXPECT_GE(small.Refusal(17 * kKiB).retry_after(), 1u);
  large.Clear();
  EXPECT_TRUE(small.Covers(17 * kKiB));
}

TEST(BodyBudgetTest, AllOfItCanBeTakenThoughItIsNoRoundNumber) {
  BodyBudget budget(kMiB + 5);
  BodyCharge charge(&budget);
  EXPECT_TRUE(charge.Covers(kMiB + 5));
  EXPECT_FALSE(charge.Covers(kMiB + 6));
  charge.Clear();
  EXPECT_EQ(budget.held(), 0u);
}

TEST(BodyBudgetTest, WhatWasPromisedTakesNoRoom) {
  BodyBudget budget(2 * kMiB);
  BodyCharge first(&budget);
  BodyCharge second(&budget);
  EXPECT_TRUE(first.Admits(2 * kMiB));
  EXPECT_TRUE(second.Admits(2 * kMiB));
  EXPECT_EQ(budget.held(), 0u);
}

TEST(BodyBudgetTest, OneTokenIsThrottledAtItsHalfAndOthersAreServed) {
  BodyBudget budget(2 * kMiB);
  budget.SetPrincipals(2);
  BodyCharge first(&budget);
  BodyCharge second(&budget);
  BodyCharge of_another(&budget);
  const PrincipalPtr a = TokenNamed("a");
  first.BeginFor(a);
  second.BeginFor(a);
  of_another.BeginFor(TokenNamed("b"));
  EXPECT_TRUE(first.Covers(kMiB));
  EXPECT_FALSE(second.Covers(100 * kKiB));
  EXPECT_EQ(second.Refusal(100 * kKiB).code(), ErrorCode::kThrottled);
  EXPECT_TRUE(of_another.Covers(kMiB));
}

TEST(BodyBudgetTest, WhoHasNoTokenHoldsAQuarterWhateverTheConnectionWasBefore) {
  BodyBudget budget(4 * kMiB);
  budget.SetPrincipals(1);
  BodyCharge stranger(&budget);
  BodyCharge renewed(&budget);
  BodyCharge good(&budget);
  EXPECT_TRUE(stranger.Covers(kMiB - 64 * kKiB));
  renewed.BeginFor(TokenNamed("a"));
  EXPECT_TRUE(renewed.Covers(kMiB));
  renewed.BeginFor(nullptr);
  EXPECT_FALSE(renewed.Covers(kMiB));
  EXPECT_TRUE(renewed.Covers(64 * kKiB));
  EXPECT_FALSE(stranger.Covers(kMiB));
  EXPECT_EQ(stranger.Refusal(kMiB).code(), ErrorCode::kOverloaded);
  good.BeginFor(TokenNamed("a"));
  EXPECT_TRUE(good.Covers(3 * kMiB));
}

TEST(BodyBudgetTest, WithoutTokensEverybodyIsAStrangerAndMayHoldAll) {
  BodyBudget budget(4 * kMiB);
  BodyCharge stranger(&budget);
  EXPECT_TRUE(stranger.Covers(4 * kMiB));
}

TEST(BodyBudgetTest, WhoGoesLeavesNothingBehind) {
  BodyBudget budget(2 * kMiB);
  {
    BodyCharge charge(&budget);
    EXPECT_TRUE(charge.Covers(kMiB));
    charge.BeginFor(TokenNamed("a"));
    EXPECT_EQ(budget.held(), 0u);
    EXPECT_TRUE(charge.Covers(kMiB));
  }
  EXPECT_EQ(budget.held(), 0u);
}

TEST(BodyBudgetTest, WithoutABudgetEverythingIsCovered) {
  BodyCharge charge;
  charge.BeginFor(TokenNamed("a"));
  EXPECT_TRUE(charge.Admits(UINT64_MAX));
  EXPECT_TRUE(charge.Covers(UINT64_MAX));
}

}  // namespace
}  // namespace tallyd

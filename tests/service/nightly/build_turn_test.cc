#include "service/nightly/build_turn.h"

#include <gtest/gtest.h>

#include <mutex>

namespace tallyd {
namespace {

class FakeClaims final : public Claiming {
 public:
  Result<Fate> Claim(const Held& claim) override {
    if (is_away) return Error(ErrorCode::kUnavailable, "away");
    if (!owner.empty() && owner != claim.owner) return Fate::kOthers;
    owner = claim.owner;
    return Fate::kOwn;
  }
  Status Keep(std::span<const Held>) override { return {}; }
  Status Release(std::span<const Held> claims) override {
    if (owner == claims.front().owner) owner.clear();
    return {};
  }
  Status SweepClaims() override { return {}; }

  std::string owner;
  bool is_away = false;
};

TEST(BuildTurn, OneHasItAtATimeAndThenTheNext) {
  FakeClaims claims;
  {
    const auto first = BuildTurn::Take(&claims);
    ASSERT_TRUE(first && *first);
    EXPECT_FALSE((*first)->IsOver());
    const auto second = BuildTurn::Take(&claims);
    ASSERT_TRUE(second);
    EXPECT_EQ(*second, nullptr);
  }
  const auto next = BuildTurn::Take(&claims);
  EXPECT_TRUE(next && *next);
}

TEST(BuildTurn, IsNobodysWhereTheStoreIsAway) {
  FakeClaims claims;
  claims.is_away = true;
  EXPECT_FALSE(BuildTurn::Take(&claims));
  EXPECT_TRUE(claims.owner.empty());
}

}  // namespace
}  // namespace tallyd

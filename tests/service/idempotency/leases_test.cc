#include "service/idempotency/leases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tallyd {
namespace {

using Fate = Claiming::Fate;

// Among daemons, in memory.
class Claims final : public Claiming {
 public:
  Result<Fate> Claim(const Held& claim) override {
    const std::lock_guard lock(mutex_);
    return owners_.try_emplace(claim.key, claim.owner).second ? Fate::kOwn : Fate::kOthers;
  }
  Status Keep(std::span<const Held>) override { return {}; }
  Status Release(std::span<const Held> claims) override {
    const std::lock_guard lock(mutex_);
    for (const Held& claim : claims) {
      const auto found = owners_.find(claim.key);
      if (found != owners_.end() && found->second == claim.owner) owners_.erase(found);
    }
    return {};
  }
  Status SweepClaims() override { return {}; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> owners_;
};

TEST(KeyLeases, AreOneDaemonsUntilTheyAreGivenBack) {
  Claims claims;
  KeyLeases a(&claims);
  KeyLeases b(&claims);
  Result<KeyLeases::Taken> taken = a.Take("key");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->fate, Fate::kOwn);
  EXPECT_EQ(b.Take("key")->fate, Fate::kOthers);
  EXPECT_EQ(b.Take("other")->fate, Fate::kOwn);
  std::promise<Fate> of_the_next;
  a.GiveBack(std::move(taken->lease), [&] { of_the_next.set_value(b.Take("key")->fate); });
  EXPECT_EQ(of_the_next.get_future().get(), Fate::kOwn) << "it is free before who waits is told";
}

TEST(KeyLeases, AStopGivesBackWhatWaitsAndTakesNoMore) {
  Claims claims;
  auto leases = std::make_unique<KeyLeases>(&claims);
  std::vector<Claiming::Held> held;
  for (const char* key : {"1", "2", "3"}) held.push_back(leases->Take(key)->lease);
  std::atomic<int> done = 0;
  for (Claiming::Held& lease : held) leases->GiveBack(std::move(lease), [&done] { ++done; });
  leases->Stop();
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(leases->Take("4"));
  leases.reset();
  KeyLeases next(&claims);
  EXPECT_EQ(next.Take("1")->fate, Fate::kOwn);
}

TEST(KeyLeases, AreNotNeededWhereNobodySharesTheStore) {
  KeyLeases leases(nullptr);
  EXPECT_FALSE(leases.are_needed());
  EXPECT_TRUE(leases.Sweep());
}

}  // namespace
}  // namespace tallyd

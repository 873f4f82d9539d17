#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "api/http/server.h"

namespace tallyd {
namespace {

using Workspaces = std::vector<std::unique_ptr<IoShard::Workspace>>;

Workspaces Take(IoShard* shard, size_t count) {
  Workspaces taken;
  while (taken.size() < count) taken.push_back(shard->TakeWorkspace());
  return taken;
}

std::set<const IoShard::Workspace*> GiveBack(IoShard* shard, Workspaces workspaces) {
  std::set<const IoShard::Workspace*> all;
  for (auto& workspace : workspaces) {
    all.insert(workspace.get());
    shard->GiveBack(std::move(workspace));
  }
  return all;
}

// What a workspace has learned of its senders is worth more than the memory of small bodies.
TEST(IoShardTest, WorkspacesOfAsManyConnectionsAsSendAtOnceAreKept) {
  IoShard shard;
  Workspaces first = Take(&shard, 100);
  for (auto& workspace : first) workspace->body.reserve(20'000);
  const auto known = GiveBack(&shard, std::move(first));
  for (const auto& again : Take(&shard, 100)) EXPECT_TRUE(known.contains(again.get()));
}

TEST(IoShardTest, OfLargeBodiesOnlyAFewAreKept) {
  constexpr size_t kLarge = IoShard::kKeptBytes / 4;
  IoShard shard;
  for (int round = 0; round < 2; ++round) {
    Workspaces large = Take(&shard, 20);
    for (auto& workspace : large) workspace->body.reserve(kLarge);
    GiveBack(&shard, std::move(large));
    size_t kept = 0;
    for (const auto& again : Take(&shard, 20)) kept += again->body.capacity() >= kLarge ? 1 : 0;
    EXPECT_GE(kept, 1u);
    EXPECT_LE(kept * kLarge, IoShard::kIdleBytes);
  }
}

TEST(IoShardTest, AWorkspaceThatGrewVeryLargeIsNotKept) {
  IoShard shard;
  auto workspace = shard.TakeWorkspace();
  workspace->body.reserve(IoShard::kKeptBytes + 1);
  shard.GiveBack(std::move(workspace));
  EXPECT_LT(shard.TakeWorkspace()->body.capacity(), IoShard::kKeptBytes);
}

}  // namespace
}  // namespace tallyd

#include "api/endpoint/workspace.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace tallyd {
namespace {

using Workspaces = std::vector<std::unique_ptr<Workspace>>;

Workspaces TakeMany(WorkspacePool* pool, size_t count) {
  Workspaces taken;
  while (taken.size() < count) taken.push_back(pool->Take());
  return taken;
}

std::set<const Workspace*> GiveAllBack(WorkspacePool* pool, Workspaces workspaces) {
  std::set<const Workspace*> all;
  for (auto& workspace : workspaces) {
    all.insert(workspace.get());
    pool->GiveBack(std::move(workspace));
  }
  return all;
}

// What a workspace has learned of its senders is worth more than the memory of small bodies.
TEST(WorkspaceTest, WorkspacesOfAsManyConnectionsAsSendAtOnceAreKept) {
  WorkspacePool pool;
  Workspaces first = TakeMany(&pool, 100);
  for (auto& workspace : first) workspace->body.reserve(20'000);
  const auto known = GiveAllBack(&pool, std::move(first));
  for (const auto& again : TakeMany(&pool, 100)) EXPECT_TRUE(known.contains(again.get()));
}

TEST(WorkspaceTest, OfLargeBodiesOnlyAFewAreKept) {
  constexpr size_t kLarge = WorkspacePool::kKeptBytes / 4;
  WorkspacePool pool;
  for (int round = 0; round < 2; ++round) {
    Workspaces large = TakeMany(&pool, 20);
    for (auto& workspace : large) workspace->body.reserve(kLarge);
    GiveAllBack(&pool, std::move(large));
    size_t kept = 0;
    for (const auto& again : TakeMany(&pool, 20)) kept += again->body.capacity() >= kLarge ? 1 : 0;
    EXPECT_GE(kept, 1u);
    EXPECT_LE(kept * kLarge, WorkspacePool::kIdleBytes);
  }
}

TEST(WorkspaceTest, AWorkspaceThatGrewVeryLargeIsNotKept) {
  WorkspacePool pool;
  auto workspace = pool.Take();
  workspace->body.reserve(WorkspacePool::kKeptBytes + 1);
  pool.GiveBack(std::move(workspace));
  EXPECT_LT(pool.Take()->body.capacity(), WorkspacePool::kKeptBytes);
}

TEST(WorkspaceTest, ABodyThatIsLetGoOfKeepsNothingFromOthers) {
  WorkspacePool pool;
  RequestBody body(pool);
  body.Begin();
  const Workspace* const its = body.workspace.get();
  body.workspace->body = "events";
  body.bytes = body.workspace->body;
  body.LetGo();
  body.LetGo();
  EXPECT_TRUE(body.bytes.empty());
  EXPECT_EQ(pool.Take().get(), its);
}

}  // namespace
}  // namespace tallyd

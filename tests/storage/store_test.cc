#include "storage/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tallyd {
namespace {

using ::testing::HasSubstr;

TEST(WaitForCommitTest, TellsWhatTheStoreToldAtOnce) {
  EXPECT_TRUE(WaitForCommit([](const CommitDone& done) { done({}); }));
  const Status refused = WaitForCommit(
      [](const CommitDone& done) { done(Error(ErrorCode::kOverloaded, "the queue is full")); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOverloaded);
  EXPECT_THAT(refused.error().message(), HasSubstr("the queue is full"));
}

TEST(WaitForCommitTest, WaitsForAnotherThread) {
  std::thread committer;
  const Status committed = WaitForCommit([&](CommitDone done) {
    committer = std::thread([done = std::move(done)] { done(Error(ErrorCode::kIo, "lost")); });
  });
  committer.join();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace tallyd

// A commit that does not end: when the daemon stops being ready, and when only a restart helps.
#include "daemon/commit_watch.h"

#include <gtest/gtest.h>

#include <set>

namespace tallyd {
namespace {

constexpr int64_t kSecond = 1'000'000;

// Answers at once, or not until it is let.
class FakeProbe final : public DiskProbe {
 public:
  void Begin() override {
    EXPECT_FALSE(is_running_);
    ++begun;
    is_running_ = hangs;
  }
  bool IsRunning() const override { return is_running_; }
  void Answer() { is_running_ = false; }

  bool hangs = false;
  int begun = 0;

 private:
  bool is_running_ = false;
};

class CommitWatchTest : public testing::Test {
 protected:
  // A look each second; what the last of them found.
  CommitVerdict After(int64_t seconds) {
    CommitVerdict verdict = CommitVerdict::kGoesOn;
    for (int64_t i = 0; i < seconds; ++i) {
      now_ += kSecond;
      verdict = watch_.Look(now_, began_);
      seen_.insert(verdict);
    }
    return verdict;
  }
  void BeginCommit() { began_ = now_; }

  FakeProbe probe_;
  CommitWatch watch_{&probe_};
  int64_t now_ = 1000 * kSecond;
  int64_t began_ = 0;
  std::set<CommitVerdict> seen_;
};

TEST_F(CommitWatchTest, AStoreWithNothingToCommitIsNotAskedOfItsDisk) {
  EXPECT_EQ(After(600), CommitVerdict::kGoesOn);
  EXPECT_EQ(seen_.size(), 1u);
  EXPECT_EQ(probe_.begun, 0);
}

TEST_F(CommitWatchTest, CommitsThatEachTakeSecondsGoOn) {
  for (int i = 0; i < 60; ++i) {
    BeginCommit();
    EXPECT_EQ(After(2), CommitVerdict::kGoesOn);
  }
  EXPECT_EQ(probe_.begun, 0);
}

TEST_F(CommitWatchTest, ACommitOfFiveSecondsIsWaitedForAndTheDaemonIsReadyAfterIt) {
  BeginCommit();
  EXPECT_EQ(After(5), CommitVerdict::kWaits);
  began_ = 0;
  EXPECT_EQ(After(1), CommitVerdict::kGoesOn);
}

TEST_F(CommitWatchTest, ACommitThatDoesNotEndWhileTheDiskAnswersIsStuck) {
  BeginCommit();
  EXPECT_EQ(After(30), CommitVerdict::kWaits);
  EXPECT_EQ(After(6), CommitVerdict::kStuck);
  EXPECT_FALSE(seen_.contains(CommitVerdict::kDiskHangs));
  EXPECT_GE(probe_.begun, 6) << "the disk was asked all the while";
}

TEST_F(CommitWatchTest, AHungDiskIsWaitedForHoweverLongItTakes) {
  probe_.hangs = true;
  BeginCommit();
  EXPECT_EQ(After(8), CommitVerdict::kDiskHangs);
  EXPECT_EQ(After(3600), CommitVerdict::kDiskHangs);
  EXPECT_FALSE(seen_.contains(CommitVerdict::kStuck));
  EXPECT_EQ(probe_.begun, 1) << "one write that hangs is enough";
}

TEST_F(CommitWatchTest, ACommitHasItsTimeAnewOnceTheDiskAnswersAgain) {
  probe_.hangs = true;
  BeginCommit();
  EXPECT_EQ(After(100), CommitVerdict::kDiskHangs);
  probe_.hangs = false;
  probe_.Answer();
  EXPECT_EQ(After(29), CommitVerdict::kWaits);
  EXPECT_EQ(After(1), CommitVerdict::kStuck);
  BeginCommit();
  EXPECT_EQ(After(1), CommitVerdict::kGoesOn) << "it was not stuck, only slow";
}

TEST_F(CommitWatchTest, ADiskThatHangsNowAndThenIsNoReasonToRestart) {
  BeginCommit();
  for (int i = 0; i < 20; ++i) {
    probe_.hangs = true;
    After(20);
    EXPECT_EQ(After(1), CommitVerdict::kDiskHangs);
    probe_.hangs = false;
    probe_.Answer();
    EXPECT_EQ(After(10), CommitVerdict::kWaits);
  }
  EXPECT_FALSE(seen_.contains(CommitVerdict::kStuck));
}

TEST_F(CommitWatchTest, AProcessThatWasStoppedForAnHourIsNotStuck) {
  BeginCommit();
  After(1);
  now_ += 3600 * kSecond;
  EXPECT_EQ(After(1), CommitVerdict::kWaits);
}

TEST_F(CommitWatchTest, AWriteThatStillHangsFromAnEarlierTimeHasItsSecondsAgain) {
  probe_.hangs = true;
  BeginCommit();
  EXPECT_EQ(After(10), CommitVerdict::kDiskHangs);
  began_ = 0;
  EXPECT_EQ(After(1), CommitVerdict::kGoesOn);
  BeginCommit();
  EXPECT_EQ(After(4), CommitVerdict::kWaits);
  EXPECT_EQ(After(5), CommitVerdict::kDiskHangs);
  EXPECT_EQ(probe_.begun, 1);
}

}  // namespace
}  // namespace tallyd

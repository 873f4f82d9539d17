#include "storage/leveldb/commit/group_committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <future>

#include "storage/batch.h"

namespace tallyd {
namespace {

using std::chrono::milliseconds;

// Commits when it is let, and fails when it is told to.
class FakeTarget final : public CommitTarget {
 public:
  Status Admit(const Batch&) override { return Admit(); }
  Status Admit() override {
    const std::lock_guard lock(mutex_);
    return admit_;
  }
  Status Check(const Batch& batch) override {
    const std::lock_guard lock(mutex_);
    return &batch == refused_ ? Status(Error(ErrorCode::kConflict, "dropped")) : Status();
  }
  size_t BytesOf(const Batch&) const override { return kBatchBytes; }
  size_t CommittedBytes() const override { return 1; }

  Status Commit(std::span<Batch* const> group, bool sync) override {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    groups_.push_back(group.size());
    synced_.push_back(sync);
    changed_.notify_all();
    return std::exchange(next_, Status());
  }
  Status Recover() override {
    const std::lock_guard lock(mutex_);
    ++recoveries_;
    changed_.notify_all();
    return recover_;
  }

  void SetOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void FailNext(Error error, Status recover) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(error);
    recover_ = std::move(recover);
  }
  void LetRecover() {
    const std::lock_guard lock(mutex_);
    recover_ = Status();
  }
  void SetAdmit(Status admit) {
    const std::lock_guard lock(mutex_);
    admit_ = std::move(admit);
  }
  void Refuse(const Batch* batch) {
    const std::lock_guard lock(mutex_);
    refused_ = batch;
  }
  void AwaitEntered(size_t times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_ >= times; });
  }
  void AwaitCommits(size_t times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return groups_.size() >= times; });
  }
  void AwaitRecoveries(size_t times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return recoveries_ >= times; });
  }
  std::vector<size_t> groups() {
    const std::lock_guard lock(mutex_);
    return groups_;
  }
  std::vector<bool> synced() {
    const std::lock_guard lock(mutex_);
    return synced_;
  }

  static constexpr size_t kBatchBytes = 100;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  Status next_, recover_, admit_;
  const Batch* refused_ = nullptr;
  size_t entered_ = 0, recoveries_ = 0;
  std::vector<size_t> groups_;
  std::vector<bool> synced_;
};

class GroupCommitterTest : public ::testing::Test {
 protected:
  GroupCommitterTest() : metrics_(registry_) { spdlog::set_level(spdlog::level::off); }

  void Start() {
    committer_ = std::make_unique<GroupCommitter>(config_, &target_, &metrics_, &progress_);
  }

  std::future<Status> Submit() {
    auto done = std::make_shared<std::promise<Status>>();
    std::future<Status> future = done->get_future();
    committer_->Submit(std::make_unique<PreviewBatch>(),
                       [done](Status status) { done->set_value(std::move(status)); });
    return future;
  }
  static ErrorCode CodeOf(std::future<Status>& answer) { return answer.get().error().code(); }

  StorageConfig config_;
  prometheus::Registry registry_;
  StoreMetrics metrics_;
  FakeTarget target_;
  CommitProgress progress_;
  std::unique_ptr<GroupCommitter> committer_;
};

TEST_F(GroupCommitterTest, WhatFollowsASuccessIsDoneBeforeTheAnswer) {
  Start();
  bool done = false;
  const auto follow = [&] { done = true; };
  EXPECT_TRUE(committer_->Commit(std::make_unique<PreviewBatch>(), follow));
  EXPECT_TRUE(std::exchange(done, false));
  target_.FailNext(Error(ErrorCode::kIo, "broken"), Status());
  EXPECT_FALSE(committer_->Commit(std::make_unique<PreviewBatch>(), follow));
  EXPECT_FALSE(done);
}

TEST_F(GroupCommitterTest, WhatWaitsTogetherCommitsTogether) {
  Start();
  target_.SetOpen(false);
  auto first = Submit();
  target_.AwaitEntered(1);
  auto second = Submit();
  auto third = Submit();
  target_.SetOpen(true);
  EXPECT_TRUE(first.get() && second.get() && third.get());
  EXPECT_THAT(target_.groups(), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(target_.synced(), ::testing::Each(true));
}

TEST_F(GroupCommitterTest, AGroupIsBoundedInBytes) {
  config_.group_bytes = 2 * FakeTarget::kBatchBytes;
  Start();
  target_.SetOpen(false);
  std::vector<std::future<Status>> answers;
  answers.push_back(Submit());
  target_.AwaitEntered(1);
  for (int i = 0; i < 5; ++i) answers.push_back(Submit());
  target_.SetOpen(true);
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
  EXPECT_THAT(target_.groups(), ::testing::ElementsAre(1, 2, 2, 1));
}

TEST_F(GroupCommitterTest, AFullQueueRefusesAtOnce) {
  config_.queue_bytes = 2 * FakeTarget::kBatchBytes;
  Start();
  target_.SetOpen(false);
  auto committing = Submit();
  target_.AwaitEntered(1);
  auto first = Submit();
  auto second = Submit();
  auto third = Submit();
  const Status refused = third.get();
  EXPECT_EQ(refused.error().code(), ErrorCode::kOverloaded);
  EXPECT_GE(refused.error().retry_after(), 1u);
  EXPECT_EQ(committer_->GetState().queued_batches, 2u);
  EXPECT_EQ(metrics_.queue_full.Value(), 1);
  target_.SetOpen(true);
  EXPECT_TRUE(committing.get() && first.get() && second.get());
}

TEST_F(GroupCommitterTest, ABatchLargerThanTheQueueIsTakenWhenItIsEmpty) {
  config_.queue_bytes = 1;
  Start();
  EXPECT_TRUE(Submit().get());
}

TEST_F(GroupCommitterTest, AFailedWriteAnswersEveryoneAndLatches) {
  Start();
  target_.SetOpen(false);
  target_.FailNext(Error(ErrorCode::kNoSpace, "full"), Error(ErrorCode::kNoSpace, "still full"));
  auto first = Submit();
  target_.AwaitEntered(1);
  auto queued = Submit();
  target_.SetOpen(true);
  EXPECT_EQ(CodeOf(first), ErrorCode::kNoSpace);
  EXPECT_EQ(CodeOf(queued), ErrorCode::kNoSpace);
  target_.AwaitRecoveries(2);
  auto later = Submit();
  EXPECT_EQ(CodeOf(later), ErrorCode::kNoSpace);
  EXPECT_FALSE(committer_->GetState().writable);
  EXPECT_EQ(target_.groups().size(), 1u) << "nothing is written before it recovered";
  target_.LetRecover();
  while (!committer_->GetState().writable) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(Submit().get());
}

TEST_F(GroupCommitterTest, OtherFailuresAreUnavailableToWaiters) {
  Start();
  target_.FailNext(Error(ErrorCode::kIo, "broken"), Status());
  auto answer = Submit();
  EXPECT_EQ(CodeOf(answer), ErrorCode::kUnavailable);
}

TEST_F(GroupCommitterTest, ARefusedBatchDoesNotHoldUpItsGroup) {
  Start();
  target_.SetOpen(false);
  auto first = Submit();
  target_.AwaitEntered(1);
  auto batch = std::make_unique<PreviewBatch>();
  target_.Refuse(batch.get());
  std::promise<Status> refused;
  committer_->Submit(std::move(batch), [&](Status s) { refused.set_value(std::move(s)); });
  auto third = Submit();
  target_.SetOpen(true);
  EXPECT_EQ(refused.get_future().get().error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(first.get() && third.get());
}

TEST_F(GroupCommitterTest, WithoutSpaceNothingQueues) {
  Start();
  target_.SetAdmit(Error(ErrorCode::kNoSpace, "full"));
  auto answer = Submit();
  EXPECT_EQ(CodeOf(answer), ErrorCode::kNoSpace);
  EXPECT_FALSE(committer_->GetState().writable);
}

TEST_F(GroupCommitterTest, CloseCommitsWhatIsQueuedAndRefusesTheRest) {
  Start();
  target_.SetOpen(false);
  auto first = Submit();
  target_.AwaitEntered(1);
  auto second = Submit();
  std::thread closing([&] { committer_->Close(); });
  target_.SetOpen(true);
  EXPECT_TRUE(first.get() && second.get());
  closing.join();
  auto later = Submit();
  EXPECT_EQ(CodeOf(later), ErrorCode::kUnavailable);
}

TEST_F(GroupCommitterTest, WithAnIntervalTheSyncComesLater) {
  config_.sync = Sync::kInterval;
  config_.sync_interval_us = 1'000'000;
  Start();
  EXPECT_TRUE(Submit().get());
  EXPECT_TRUE(Submit().get());
  EXPECT_FALSE(target_.synced().front());
  // Idle, it is synced by a commit of nothing.
  target_.AwaitCommits(3);
  EXPECT_TRUE(target_.synced().back());
  EXPECT_EQ(target_.groups().back(), 0u);
}

TEST(StoreMetricsTest, EachInstrumentHasANameOfItsOwnAndBeginsAtZero) {
  prometheus::Registry registry;
  const StoreMetrics metrics(registry);
  metrics.stalls.Increment();
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    ASSERT_EQ(family.metric.size(), family.name == "tallyd_gc_cells_total" ? 4u : 1u)
        << family.name;
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_NE(family.name, "tallyd_store_writable") << "the store's state alone tells that";
    EXPECT_EQ(family.name.rfind("tallyd_", 0), 0u) << family.name;
    const bool incremented = family.name == "tallyd_store_stalls_total";
    for (const prometheus::ClientMetric& metric : family.metric) {
      EXPECT_EQ(metric.counter.value, incremented ? 1 : 0) << family.name;
      EXPECT_EQ(metric.gauge.value, 0) << family.name;
      EXPECT_EQ(metric.histogram.sample_count, 0u) << family.name;
    }
  }
  EXPECT_EQ(names.size(), 24u);
}

// Whoever watches over the store knows of each commit since when it runs.
TEST_F(GroupCommitterTest, TellsSinceWhenACommitRunsAndThatItEnded) {
  target_.SetOpen(false);
  Start();
  const int64_t before = CommitProgress::NowUs();
  std::future<Status> answer = Submit();
  target_.AwaitEntered(1);
  EXPECT_GE(progress_.began_us(), before);
  EXPECT_LE(progress_.began_us(), CommitProgress::NowUs());
  target_.SetOpen(true);
  EXPECT_TRUE(answer.get());
  committer_->Close();
  EXPECT_EQ(progress_.began_us(), 0);
}

}  // namespace
}  // namespace tallyd

// A sealer's rounds, which the test makes itself, so that one may come before a reopen: an engine,
// a committer, and the job that seals heads.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_SEAL_SEAL_ROUND_FIXTURE_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_SEAL_SEAL_ROUND_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "storage/leveldb/seal/head_job.h"
#include "storage/leveldb/seal/seal_context.h"
#include "tests/storage/leveldb/commit/engine_fixture.h"

namespace tallyd {

class SealRoundFixture : public EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    StartRounds();
  }
  void StartRounds() {
    committer_ = std::make_unique<GroupCommitter>(config(), engine_.get(), metrics_.get());
    retention_.Start({});
    context_ = std::make_unique<SealContext>(
        SealContext::Parts{&config(), &clock, &retention_, engine_.get(), committer_.get(),
                           metrics_.get(), &pacer_, [] { return false; }});
    context_->settle = {true, std::numeric_limits<uint64_t>::max(), 0, 1};
    job_ = std::make_unique<HeadJob>(context_.get());
  }
  void TearDown() override { Stop(); }
  void Stop() {
    if (committer_) committer_->Close();
    job_.reset();
    context_.reset();
    committer_.reset();
    engine_.reset();
  }

  ViewPtr view() { return engine_->database().view(); }
  Status PutRow(const std::string& row) {
    auto batch = NewBatch();
    AddRow(batch.get(), "H", row, Value::Int(7));
    return committer_->Commit(std::move(batch));
  }
  // The newest head is followed by another, so that it can be sealed.
  void BeginHead() {
    const ViewPtr now = view();
    context_->BeginRound(*now);
    ASSERT_TRUE(engine_->database().BeginHead().value());
  }
  void SealAll() {
    while (view()->heads.size() > 1) {
      const ViewPtr now = view();
      context_->BeginRound(*now);
      ASSERT_TRUE(job_->Work(now));
    }
    engine_->database().Dispose();
  }
  void AwaitRecovery() {
    while (!committer_->GetState().writable || !view()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  static size_t FilesOf(const View& view) {
    size_t files = 0;
    for (const auto& [table, of_table] : view.files) files += of_table->size();
    return files;
  }
  size_t FilesOnDisk() {
    const std::filesystem::directory_iterator all(config().path + "/blocks");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  Pacer pacer_{1, [] { return true; }};
  RetentionClock retention_{clock};
  std::unique_ptr<GroupCommitter> committer_;
  std::unique_ptr<SealContext> context_;
  std::unique_ptr<HeadJob> job_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_SEAL_SEAL_ROUND_FIXTURE_H_

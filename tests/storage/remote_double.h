// RemoteDouble: a Store as an engine at the other end of a wire may be. What it keeps is a
// ModelStore's; between it and whoever uses it lies all that can go wrong there:
//
// - answers come late, and those of other batches before;
// - of a batch some rows are written and others are not, and a reader may see so meanwhile;
// - a row may be written, and the answer lost. The double tries again, as a client would: what it
//   answers with success is there, once.
//
// It has no capability at all: no whole batches, no snapshots, nothing behind a line. A scan is of
// pages, each of the moment when it was asked for.
//
// What goes wrong by chance is tried again until it is right. Fate decides beside that what goes
// wrong for good.
#ifndef TALLYD_TESTS_STORAGE_REMOTE_DOUBLE_H_
#define TALLYD_TESTS_STORAGE_REMOTE_DOUBLE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/storage/model_store.h"
#include "tests/storage/remote_batch.h"

namespace tallyd {

// Of what is sent, for good.
enum class Fate : uint8_t {
  kArrives,
  kRefused,     // It is not written.
  kUnanswered,  // It is written, and no answer comes.
};
// Of a row of a table; of a batch's notes where the table is empty: "first" or "behind".
using Decide = std::function<Fate(std::string_view table, std::string_view row_key)>;

class RemoteDouble final : public Store {
 public:
  // Both outlive the store.
  RemoteDouble(ModelDisk* disk, const Clock* clock, unsigned seed = 1);
  ~RemoteDouble() override;

  // While nothing is under way.
  void set_fate(Decide decide) { decide_ = std::move(decide); }
  // How long each page of a reading takes from now on.
  void set_latency(std::chrono::microseconds latency) { latency_ = latency; }

  const Capabilities& capabilities() const override { return capabilities_; }
  Status Adopt(const Schema& schema) override { return service_.Adopt(schema); }
  TablePtr FindTable(std::string_view name) const override { return service_.FindTable(name); }
  std::vector<TablePtr> Tables() const override { return service_.Tables(); }
  Status DropTable(std::string_view name) override { return service_.DropTable(name); }
  std::vector<FieldInfo> Fields(std::string_view stream) const override {
    return service_.Fields(stream);
  }
  std::vector<MissedField> MissedFields(const TableInfo& table) const override {
    return service_.MissedFields(table);
  }
  Result<std::optional<std::string>> FindMemo(std::string_view key) override;
  Result<std::vector<Memo>> Memos(std::string_view prefix, size_t limit,
                                  std::string_view after) override;

  const ColumnSet* InternColumns(const TableInfo& table,
                                 std::span<const ColumnRef> columns) override {
    return service_.InternColumns(table, columns);
  }
  std::unique_ptr<Batch> NewBatch() override { return std::make_unique<RemoteBatch>(); }
  void Submit(std::unique_ptr<Batch> batch, CommitDone done) override;
  std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) override;
  std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) override {
    return RunsOfRows(Scan(table, spec));
  }
  Result<std::vector<KeyRange>> Split(const TablePtr& table, const KeyRange& range,
                                      const TimeRange& time, const SplitSpec& spec) override;
  Result<ScanEstimate> Estimate(const TablePtr& table, const EstimateSpec& spec) override;
  Result<TableStats> Stats(const TablePtr& table) override;

  StoreState State() override;
  TimeUs RetentionNow() override { return service_.RetentionNow(); }
  void Close() override;

  // Waits for an answer as long as one takes, and no longer than the limits say.
  Status AwaitAnswer(const ReadLimits& limits);
  ModelStore& service() { return service_; }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Sent {
    std::unique_ptr<RemoteBatch> batch;
    CommitDone done;
  };
  struct Answer {
    CommitDone done;
    CommitOutcome outcome;
  };
  using Entries = std::vector<RemoteBatch::Entry*>;

  void Work();
  void GiveAnswers();
  CommitOutcome Execute(RemoteBatch* batch);
  Status WriteNotes(const std::vector<RemoteBatch::Change>& notes, std::string_view when);
  // What was not written for good, or nobody knows, is added to *failed.
  void WriteRows(Entries entries, std::vector<RowFailure>* failed);
  void Send(const Entries& entries);
  bool Happens(double chance);
  std::chrono::microseconds SomeTime(std::chrono::microseconds at_most);

  const Capabilities capabilities_;
  ModelStore service_;
  Decide decide_;
  std::atomic<std::chrono::microseconds> latency_;

  std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::mt19937 random_;
  std::deque<Sent> sent_;
  bool is_writing_ = false;
  std::multimap<SteadyTime, Answer> answers_;
  bool closed_ = false;
  std::condition_variable changed_;

  std::mutex close_mutex_;
  std::thread writer_;
  std::thread answerer_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_REMOTE_DOUBLE_H_

// Engine: the database with all that is kept in memory of it, as the committer drives it: opens,
// commits groups, and after a failed write closes, makes room, reopens and reloads.
//
// Readers use state() and database() from any thread as their headers say. What /metrics and
// /v1/status tell of it comes from TellOfEngine.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "storage/blocks/block_limits.h"
#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/commit/group_committer.h"
#include "storage/leveldb/commit/group_writer.h"
#include "storage/leveldb/env/directory_watch.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/space_guard.h"
#include "storage/leveldb/files/file_sweep.h"
#include "storage/leveldb_store.h"

namespace tallyd {

class Engine final : public CommitTarget {
 public:
  // `metrics` outlives the engine. The directory exists.
  Engine(const LevelDbStoreOptions& options, StoreMetrics* metrics);
  ~Engine() override;

  // Before anything else.
  Status Open();
  // Called by the committer's thread when the head is full. Before anybody commits.
  void OnFullHead(std::function<void()> call) { on_full_head_ = std::move(call); }
  // When nobody commits any more.
  void Close();

  // CommitTarget:
  Status Admit() override;
  Status Admit(const Batch& batch) override;
  bool CommitsAlone(const Batch& batch) const override;
  Status Check(const Batch& batch) override;
  size_t BytesOf(const Batch& batch) const override;
  Status Commit(std::span<Batch* const> group, bool sync) override;
  size_t CommittedBytes() const override { return writer_.committed_bytes(); }
  Status Recover() override;

  // Before such a batch is submitted (Store::CommitUnlessTouched, CommitBehindLine): it commits
  // alone, so all that was committed before is known by then. The batch is of this store.
  void PrepareUnlessTouched(Batch* batch, const std::shared_ptr<RowWatch>& watch);
  void PrepareBehindLine(Batch* batch, const CompleteBatch& complete);

  EngineState& state() { return state_; }
  const EngineState& state() const { return state_; }
  Database& database() { return database_; }
  SpaceGuard& space() { return space_; }
  // Whether the view's files were opened after the last commit that failed. A failed commit may be
  // on the disk all the same: only such a view tells. Of any thread.
  bool KnowsWhatFailed(const View& view) const { return view.opening > failed_opening_; }
  // Block files that no record names, as the start found them.
  const std::vector<LostFile>& lost_files() const { return lost_files_; }
  uint64_t head_bytes() const { return space_.budget().write_buffer; }
  uint64_t rows_at_once() const { return rows_at_once_; }
  const BlockBounds& block_bounds() const { return block_bounds_; }

 private:
  Status CheckSchema(const LevelDbBatch& batch) const;
  enum class OpenFor { kWriting, kReading };
  Status OpenOnce(bool first, OpenFor what = OpenFor::kWriting);
  Status SweepFiles(const LoadedView& loaded);
  Status ClearNotes(const LoadedView& loaded);
  Status NoteOpening();
  // Of what a reopen has found: kConflict where it is not what this process had open.
  Status CheckOwn(uint64_t found);
  Status Reopen();

  const StorageConfig config_;
  const uint64_t rows_at_once_;
  const BlockBounds block_bounds_;
  StoreMetrics* const metrics_;
  const std::unique_ptr<DurableEnv> own_env_;  // Null when tests bring theirs.
  StoreEnv* const env_;
  SpaceGuard space_;
  EngineState state_;
  Database database_;
  GroupWriter writer_;
  std::vector<LostFile> lost_files_;  // Constant after Open.
  std::function<void()> on_full_head_;
  bool must_reopen_ = false;
  // The last sequence that records on the disk name: written, and known to be synced.
  uint64_t written_sequence_ = 0;
  uint64_t synced_sequence_ = 0;
  bool has_noted_opening_ = false;
  std::string noted_openings_;  // The record, as it was written.
  // The directory holds another content: it is not touched again. Nothing: it does not.
  std::optional<Error> refused_;
  bool reads_only_ = false;                  // The disk was full when it was opened.
  std::atomic<uint64_t> failed_opening_{0};  // In which a commit failed last.
  DirectoryWatch watch_;
};

// What the engine tells of itself: adds its gauges of /metrics, its members of "store" in
// /v1/status (docs/operations.md lists them), and the unsealed bytes. Thread-safe.
void TellOfEngine(Engine* engine, StoreState* state);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_H_

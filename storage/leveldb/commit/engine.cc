#include "storage/leveldb/commit/engine.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>

namespace tallyd {
namespace {

std::unique_ptr<DurableEnv> MakeEnv(const LevelDbStoreOptions& options, StoreMetrics* metrics) {
  if (options.env != nullptr) return nullptr;
  EnvObserver observer;
  observer.on_sync = [metrics](double seconds) {
    metrics->fsyncs.Increment();
    metrics->fsync_seconds.Increment(seconds);
  };
  observer.on_stall = [metrics] { metrics->stalls.Increment(); };
  return std::make_unique<DurableEnv>(std::move(observer));
}

}  // namespace

Engine::Engine(const LevelDbStoreOptions& options, StoreMetrics* metrics)
    : config_(options.storage),
      rows_at_once_(options.rows_at_once),
      metrics_(metrics),
      own_env_(MakeEnv(options, metrics)),
      env_(own_env_ ? own_env_.get() : options.env),
      space_(options.storage, options.measure),
      database_(options.storage, env_),
      writer_({options.clock, options.storage.sync, rows_at_once_}, &database_, &state_) {}

Engine::~Engine() { Close(); }

Status Engine::Open() {
  const auto start = std::chrono::steady_clock::now();
  Status opened = OpenOnce(true);
  if (!opened && opened.error().code() == ErrorCode::kNoSpace) {
    space_.Release();  // Recovery needs room, and that is what it is for.
    opened = OpenOnce(true);
  }
  if (!opened) return opened;
  const Status room = space_.Admit();  // Makes the ballast; without room, writes are refused.
  if (!room) spdlog::warn("store: {}", room.error().message());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  spdlog::info("store: opened {} in {:.3f} s, last sequence {}", config_.path, took.count(),
               state_.last_sequence);
  return {};
}

Status Engine::OpenOnce(bool first) {
  const Status opened = database_.Open(space_.budget().write_buffer);
  if (!opened && opened.error().code() == ErrorCode::kConflict) {
    return Error(ErrorCode::kConflict, fmt::format("{} is in use by another process: {}",
                                                   config_.path, opened.error().message()));
  }
  if (!opened) return opened.error().Prefixed(config_.path);
  const Result<LoadedView> loaded = first
                                        ? LoadEngineState(&database_, &state_)
                                        : ReloadEngineState(&database_, &state_, writer_.failed());
  Status ready = loaded ? Status() : loaded.error();
  if (ready && first) ready = SweepFiles(*loaded);
  if (!ready) {
    database_.Close();
    return ready.error().Prefixed(config_.path);
  }
  writer_.ForgetFailed();
  database_.AdmitReaders(loaded->files, loaded->deletes);
  return {};
}

// Only before anybody makes files.
Status Engine::SweepFiles(const LoadedView& loaded) {
  FilesOnRecord record{{}, {}, state_.sealed_sequence};
  for (const auto& [table, files] : loaded.files) {
    record.files.insert(record.files.end(), files.begin(), files.end());
  }
  for (const auto& [number, note] : loaded.notes) {
    if (note.kind == FileNote::Kind::kDropped) record.dropped.insert(number);
  }
  BlockFileShelf& shelf = database_.shelf();
  Result<FileSweep> swept = tallyd::SweepFiles(&shelf, config_.path, record);
  if (!swept) return swept.error();
  state_.next_file = swept->greatest + 1;
  lost_files_ = std::move(swept->lost);
  for (const BlockFilePtr& file : record.files) {
    const auto note = loaded.notes.find(file->info().number);
    if (note == loaded.notes.end()) continue;
    file->ReportDamage(Error(ErrorCode::kCorruption, note->second.reason));
    shelf.damaged().SetNoted(note->first);
  }
  return ClearNotes(loaded);
}

// Those of files that are gone.
Status Engine::ClearNotes(const LoadedView& loaded) {
  leveldb::WriteBatch cleared;
  bool any = false;
  for (const auto& [number, note] : loaded.notes) {
    const bool is_kept = env_->FileExists(database_.shelf().PathOf(number)) ||
                         database_.shelf().damaged().Contains(number);
    if (is_kept) continue;
    cleared.Delete(FileNoteKey(number));
    any = true;
  }
  return any ? database_.WriteBase(&cleared) : Status();
}

void Engine::Close() { database_.Close(); }

Status Engine::Admit(const Batch& batch) {
  if (static_cast<const LevelDbBatch&>(batch).stores_events()) return space_.Admit();
  return {};
}

bool Engine::CommitsAlone(const Batch& batch) const {
  return static_cast<const LevelDbBatch&>(batch).prepare() != nullptr;
}

Status Engine::Check(const Batch& batch) {
  const auto& own = static_cast<const LevelDbBatch&>(batch);
  if (own.prepare()) {
    Status prepared = own.prepare()();
    if (!prepared) return prepared;
  }
  if (writer_.MayCommit(own)) return {};
  return Error(ErrorCode::kConflict, "a table that the batch writes to was dropped");
}

size_t Engine::BytesOf(const Batch& batch) const {
  return static_cast<const LevelDbBatch&>(batch).bytes();
}

Status Engine::Commit(std::span<Batch* const> group, bool sync) {
  std::vector<LevelDbBatch*> batches;
  for (Batch* batch : group) batches.push_back(static_cast<LevelDbBatch*>(batch));
  Status committed = writer_.Commit(batches, sync);
  if (!committed) {
    // Whatever failed, what the log holds is no longer known: after a failed write or fsync LevelDB
    // goes on appending behind what may be a torn record.
    must_reopen_ = true;
    failed_opening_ = database_.opening();
    if (committed.error().code() == ErrorCode::kNoSpace) space_.Release();
  } else if (on_full_head_ && database_.newest_head_bytes() >= head_bytes()) {
    on_full_head_();
  }
  return committed;
}

Status Engine::Recover() {
  if (must_reopen_ || !database_.is_open()) {
    const Status reopened = Reopen();
    if (!reopened) return reopened;
  }
  // Work in the background may have failed meanwhile, which only a write tells.
  return Commit({}, true);
}

Status Engine::Reopen() {
  const auto start = std::chrono::steady_clock::now();
  metrics_->reopens.Increment();
  database_.Close();
  const Status opened = OpenOnce(false);
  if (!opened) {
    if (opened.error().code() == ErrorCode::kNoSpace) space_.Release();
    return opened;
  }
  must_reopen_ = false;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  spdlog::info("store: reopened {} in {:.3f} s", config_.path, took.count());
  return {};
}

}  // namespace tallyd

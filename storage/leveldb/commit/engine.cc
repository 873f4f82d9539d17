#include "storage/leveldb/commit/engine.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "storage/leveldb/codec/meta_codec.h"

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
  const bool is_always = options.storage.sync == Sync::kAlways;
  return std::make_unique<DurableEnv>(std::move(observer),
                                      is_always ? LogWrites::kDirect : LogWrites::kCached);
}

BlockBounds BoundsOf(const LevelDbStoreOptions& options) {
  BlockBounds bounds;
  bounds.columns = std::min(options.block_columns, kMaxBlockColumns);
  return bounds;
}

}  // namespace

Engine::Engine(const LevelDbStoreOptions& options, StoreMetrics* metrics)
    : config_(options.storage),
      rows_at_once_(options.rows_at_once),
      block_bounds_(BoundsOf(options)),
      metrics_(metrics),
      own_env_(MakeEnv(options, metrics)),
      env_(own_env_ ? own_env_.get() : options.env),
      space_(options.storage, options.measure),
      database_(options.storage, env_),
      writer_({options.clock, options.storage.sync, rows_at_once_}, &database_, &state_),
      watch_(options.storage.path, kCurrentName, kLockName) {}

Engine::~Engine() { Close(); }

Status Engine::Open() {
  const auto start = std::chrono::steady_clock::now();
  Status opened = OpenOnce(true);
  if (!opened && opened.error().code() == ErrorCode::kNoSpace) {
    space_.Release();  // Recovery needs room, and that is what it is for.
    opened = OpenOnce(true);
  }
  if (!opened && opened.error().code() == ErrorCode::kNoSpace) {
    if (OpenOnce(true, OpenFor::kReading)) {
      spdlog::warn("store: {}: reading only, until there is room", opened.error().message());
      opened = {};
    }
  }
  if (!opened) return opened;
  watch_.Begin();
  const Status room = space_.Admit();  // Makes the ballast; without room, writes are refused.
  if (!room) spdlog::warn("store: {}", room.error().message());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  spdlog::info("store: opened {} in {:.3f} s, last sequence {}", config_.path, took.count(),
               state_.last_sequence);
  return {};
}

Status Engine::OpenOnce(bool first, OpenFor what) {
  reads_only_ = what == OpenFor::kReading;
  const uint64_t head_bytes = space_.budget().write_buffer;
  const Status opened = reads_only_ ? database_.OpenToRead(head_bytes) : database_.Open(head_bytes);
  if (!opened) return opened.error().Prefixed(config_.path);
  const Result<uint64_t> found = database_.LastSequence();
  Status own = found ? Status() : Status(found.error());
  if (own && !first) own = CheckOwn(*found);
  if (!own) {
    database_.Close();
    return own.error().Prefixed(config_.path);
  }
  const Result<LoadedView> loaded = first
                                        ? LoadEngineState(&database_, &state_)
                                        : ReloadEngineState(&database_, &state_, writer_.failed());
  Status ready = loaded ? Status() : loaded.error();
  if (ready && first) ready = SweepFiles(*loaded);
  if (ready && !reads_only_ && !has_noted_opening_) ready = NoteOpening();
  if (!ready) {
    database_.Close();
    return ready.error().Prefixed(config_.path);
  }
  writer_.ForgetFailed();
  written_sequence_ = *found;
  if (first) synced_sequence_ = *found;
  database_.AdmitReaders(loaded->files, loaded->deletes);
  if (reads_only_) {
    must_reopen_ = true;
    failed_opening_ = database_.opening();
  }
  return {};
}

// What was put into the place of what was open may lack what this process acknowledged. It must
// not stand for it in answers, nor in backups: they tell by the openings whether a store has all
// that it had.
Status Engine::CheckOwn(uint64_t found) {
  std::string why;
  if (database_.opened_store() != database_.shelf().store()) {
    why = fmt::format("it holds the store {} by now, and not the store {}, which was open",
                      HexOfStoreId(database_.opened_store()),
                      HexOfStoreId(database_.shelf().store()));
  } else if (found < synced_sequence_) {
    why = fmt::format(
        "it holds an older state of the store by now, which ends with sequence {}: "
        "what was acknowledged ends with {}",
        found, synced_sequence_);
  } else if (has_noted_opening_) {
    const Result<std::string> openings = database_.Get(MetaKey(MetaKind::kOpenings));
    if (!openings && openings.error().code() != ErrorCode::kNotFound) return openings.error();
    if (!openings || *openings != noted_openings_) {
      why = "it holds the store as it was before this start, or as another process left it";
    }
  }
  if (why.empty()) {
    // With sync = "interval" a failed fsync may take what was acknowledged, and what comes next has
    // its sequences: a backup is told.
    const FailedGroup* const failed = writer_.failed();
    const bool goes_on =
        found == written_sequence_ || (failed != nullptr && found == failed->sequence);
    has_noted_opening_ = has_noted_opening_ && goes_on;
    return {};
  }
  refused_ = Error(ErrorCode::kConflict,
                   why +
                       ". Nothing is written until a restart: put the directory back as it "
                       "was before, or restart to go on with what it holds");
  return *refused_;
}

// Only before anybody makes files.
Status Engine::SweepFiles(const LoadedView& loaded) {
  const FilesOnRecord record = RecordOf(loaded, &database_);
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

// Those of files that are gone, and of heads that are and were sealed long ago.
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
  const std::string heads = HeadsDirectory(config_.path);
  for (const auto& [number, note] : loaded.head_notes) {
    const bool is_kept =
        number + kNotedHeads > loaded.sealed_head || env_->FileExists(HeadPath(heads, number));
    if (is_kept) continue;
    cleared.Delete(HeadNoteKey(number));
    any = true;
  }
  return any && !reads_only_ ? database_.WriteBase(&cleared) : Status();
}

// Before anything is committed: a backup tells by it whether the store still has all that an
// earlier one had. A reopen by the same process goes on with what it was, or notes another.
Status Engine::NoteOpening() {
  const std::string key = MetaKey(MetaKind::kOpenings);
  const Result<std::string> record = database_.Get(key);
  if (!record && record.error().code() != ErrorCode::kNotFound) return record.error();
  Result<Openings> openings = record ? DecodeOpenings(*record) : Result<Openings>(Openings());
  if (!openings) return openings.error();
  openings->Add(state_.last_sequence);
  leveldb::WriteBatch batch;
  noted_openings_ = EncodeOpenings(*openings);
  batch.Put(key, noted_openings_);
  // So that no log of another store's base passes for one of this.
  batch.Put(MetaKey(MetaKind::kStoreId), database_.shelf().store());
  const Status written = database_.WriteBase(&batch);
  has_noted_opening_ = written.has_value();
  return written;
}

void Engine::Close() { database_.Close(); }

Status Engine::Admit() {
  Status there = watch_.CheckContent();
  return there ? space_.Admit() : there;
}

Status Engine::Admit(const Batch& batch) {
  Status there = watch_.Check();
  if (!there) return there;
  if (static_cast<const LevelDbBatch&>(batch).stores_something()) return space_.Admit();
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

Status Engine::CheckSchema(const LevelDbBatch& batch) const {
  if (batch.adoption() >= state_.catalogue.adoption()) return {};
  return Error(ErrorCode::kConflict, "another schema was adopted meanwhile");
}

void Engine::PrepareUnlessTouched(Batch* batch, const std::shared_ptr<RowWatch>& watch) {
  auto* own = static_cast<LevelDbBatch*>(batch);
  own->SetWatch(watch);
  own->CommitAlone([this, own]() -> Status {
    if (Status same = CheckSchema(*own); !same) return same;
    if (!own->WasForestalled()) return {};
    return Error(ErrorCode::kConflict, "others wrote to the same rows meanwhile");
  });
}

// What is sealed has the last sequence of the head that it came in: a line is where a head begins.
void Engine::PrepareBehindLine(Batch* batch, const CompleteBatch& complete) {
  auto* own = static_cast<LevelDbBatch*>(batch);
  own->CommitAlone([this, own, complete]() -> Status {
    if (Status same = CheckSchema(*own); !same) return same;
    const Result<bool> begun = database_.BeginHead();
    if (!begun) return begun.error();
    complete(state_.last_sequence + 1, own);
    return {};
  });
}

size_t Engine::BytesOf(const Batch& batch) const {
  return static_cast<const LevelDbBatch&>(batch).bytes();
}

Status Engine::Commit(std::span<Batch* const> group, bool sync) {
  if (reads_only_) {
    return Error(ErrorCode::kNoSpace, "the disk was full when the store was opened");
  }
  // What is open may have been moved aside: where something else lies in its place, a reopen tells.
  if (Status same = watch_.CheckContent(); !same) {
    must_reopen_ = true;
    failed_opening_ = database_.opening();
    return same;
  }
  std::vector<LevelDbBatch*> batches;
  for (Batch* batch : group) batches.push_back(static_cast<LevelDbBatch*>(batch));
  const uint64_t before = state_.last_sequence;
  Status committed = writer_.Commit(batches, sync);
  if (committed) {
    if (state_.last_sequence != before) written_sequence_ = state_.last_sequence;
    if (sync) synced_sequence_ = written_sequence_;
  }
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
  if (refused_) return refused_->Prefixed(config_.path);
  // Readers go on until it can come to something.
  if (reads_only_) {
    const Status room = space_.Admit();
    if (!room) return room;
  }
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
  watch_.BeginContent();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  spdlog::info("store: reopened {} in {:.3f} s", config_.path, took.count());
  return {};
}

namespace {

constexpr size_t kLevels = 7;
// LevelDB 1.23 delays every write by 1 ms from 8 files in level 0 on, and stops at 12.
constexpr uint64_t kSlowdownFiles = 8;
constexpr uint64_t kStopFiles = 12;

struct Figures {
  bool has_view = false;  // While the files are being reopened there is nothing to count.
  uint64_t unsealed_bytes = 0;
  uint64_t block_files = 0;
  uint64_t block_bytes = 0;
  uint64_t pending_deletes = 0;
  std::array<uint64_t, kLevels> level_files{};
  std::optional<Openings> openings;  // Null: nobody can read them now.
};

// Files and directories come and go meanwhile: what is gone counts nothing, and the rest counts.
uint64_t BytesIn(const std::filesystem::path& directory, bool with_those_below) {
  uint64_t bytes = 0;
  std::error_code ended;
  std::filesystem::directory_iterator file(directory, ended);
  for (; !ended && file != std::filesystem::directory_iterator(); file.increment(ended)) {
    std::error_code gone;
    if (with_those_below && file->is_directory(gone)) bytes += BytesIn(file->path(), true);
    const bool counts = file->is_regular_file(gone) && file->path().filename() != "ballast";
    const uint64_t size = counts ? file->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

Figures Measure(Engine* engine) {
  Figures figures;
  figures.pending_deletes = engine->state().latest_deletes.size();
  const Result<std::unique_ptr<Lease>> lease = engine->database().NewLease();
  if (!lease) return figures;
  const LeaseAccess access(lease->get());
  if (!access) return figures;
  figures.has_view = true;
  for (const auto& head : access.view().heads) figures.unsealed_bytes += head->bytes();
  for (const auto& [table, files] : access.view().files) {
    figures.block_files += files->size();
    for (const BlockFilePtr& file : *files) figures.block_bytes += file->info().bytes;
  }
  for (const auto& [table, list] : access.view().deletes) figures.pending_deletes += list->size();
  for (size_t level = 0; level < kLevels; ++level) {
    std::string files;
    access.base().GetProperty("leveldb.num-files-at-level" + std::to_string(level), &files);
    figures.level_files[level] = std::strtoul(files.c_str(), nullptr, 10);
  }
  std::string record;
  const auto got = access.base().Get({}, MetaKey(MetaKind::kOpenings), &record);
  Result<Openings> openings = got.ok() ? DecodeOpenings(record) : Result<Openings>(Openings());
  if (openings) figures.openings = std::move(*openings);
  return figures;
}

// The view has the sizes of heads and block files, which may be many: they are looked for on the
// disk only while there is no view. It has both of one moment, so that what is sealed meanwhile is
// counted in one place.
uint64_t DiskBytes(const std::string& path, const Figures& figures) {
  const uint64_t outside = BytesIn(path, false) + BytesIn(LostDirectory(path), false);
  if (figures.has_view) return outside + figures.unsealed_bytes + figures.block_bytes;
  return outside + BytesIn(HeadsDirectory(path), true) + BytesIn(BlockFilesDirectory(path), false);
}

// Of those that an operator should look at.
void TellOfFiles(Engine* engine, StoreState* state) {
  const auto gauge = [&](const char* name, const char* help, uint64_t value) {
    state->gauges.push_back({name, help, {}, static_cast<double>(value)});
  };
  StoreMember::Members cut;
  const char* const help = "Bytes at the end of a file that a crash left incomplete.";
  for (const TornTail& tail : engine->database().torn_tails()) {
    state->gauges.push_back({"tallyd_store_cut_tail_bytes",
                             help,
                             {{"file", tail.file}},
                             static_cast<double>(tail.bytes)});
    cut.push_back({"", StoreMember::Members{{"file", tail.file}, {"bytes", tail.bytes}}});
  }
  StoreMember::Members lost;
  for (const LostFile& file : engine->lost_files()) {
    lost.push_back({"", StoreMember::Members{{"file", file.path}, {"bytes", file.bytes}}});
  }
  StoreMember::Members damaged;
  for (const DamagedFile& file : engine->database().shelf().damaged().All()) {
    damaged.push_back({"", StoreMember::Members{{"file", file.path}, {"reason", file.reason}}});
  }
  if (cut.empty()) gauge("tallyd_store_cut_tail_bytes", help, 0);
  gauge("tallyd_store_lost_files", "Files in lost/: complete, and on no record.", lost.size());
  gauge("tallyd_damaged_files", "Block files of which something cannot be read.", damaged.size());
  // Tells it from one that took its place under the same path.
  state->members.push_back({"id", HexOfStoreId(engine->database().shelf().store())});
  state->members.push_back({"cut_tails", std::move(cut)});
  state->members.push_back({"lost_files", std::move(lost)});
  state->members.push_back({"damaged_files", std::move(damaged)});
}

// Tells a store from itself that was put back from a copy: whoever noted an opening, and how many
// changes there were, finds that the next one began with fewer, or that there is no such opening.
void TellOfOpenings(const Openings& openings, StoreState* state) {
  constexpr size_t kTold = 64;
  const size_t untold = std::max(openings.known.size(), kTold) - kTold;
  StoreMember::Members told;
  for (size_t i = untold; i < openings.known.size(); ++i) {
    const Opening& opening = openings.known[i];
    told.push_back({"", StoreMember::Members{{"id", fmt::format("{:016x}", opening.id)},
                                             {"changes", opening.sequence}}});
  }
  state->members.push_back({"openings_before", openings.forgotten + untold});
  state->members.push_back({"openings", std::move(told)});
}

}  // namespace

void TellOfEngine(Engine* engine, StoreState* state) {
  const uint64_t changes = engine->state().last_sequence;  // Of an opening that is told, or before.
  const Figures figures = Measure(engine);
  state->unsealed_bytes = figures.unsealed_bytes;
  state->members.push_back({"path", engine->database().path()});
  const auto tell = [&](const char* member, const char* gauge, const char* help, uint64_t value) {
    if (member != nullptr) state->members.push_back({member, value});
    state->gauges.push_back({gauge, help, {}, static_cast<double>(value)});
  };
  tell("pending_deletes", "tallyd_store_pending_deletes",
       "Deleted ranges whose bytes are still on the disk, or in memory (latest tables).",
       figures.pending_deletes);
  tell("block_files", "tallyd_store_block_files", "Files of column blocks.", figures.block_files);
  tell(nullptr, "tallyd_store_unsealed_bytes", "Bytes committed that are not in column blocks yet.",
       figures.unsealed_bytes);
  tell("disk_bytes", "tallyd_store_disk_bytes", "Bytes of data, ballast left out.",
       DiskBytes(engine->database().path(), figures));
  tell("free_bytes", "tallyd_store_free_bytes", "Free bytes of the data's volume.",
       engine->space().free_bytes());
  StoreMember::Members levels;
  for (size_t level = 0; level < figures.level_files.size(); ++level) {
    const uint64_t files = figures.level_files[level];
    levels.push_back({"", files});
    state->gauges.push_back({"tallyd_leveldb_files",
                             "LevelDB's files, by level.",
                             {{"level", std::to_string(level)}},
                             static_cast<double>(files)});
  }
  state->members.push_back({"level_files", std::move(levels)});
  TellOfFiles(engine, state);
  state->members.push_back({"changes", changes});
  if (figures.openings) TellOfOpenings(*figures.openings, state);
  const uint64_t waiting = figures.level_files[0];
  tell(nullptr, "tallyd_leveldb_slowdown",
       "0: none; 1: LevelDB delays writes (8 files in level 0); 2: it stops them.",
       waiting >= kStopFiles       ? 2
       : waiting >= kSlowdownFiles ? 1
                                   : 0);
}

}  // namespace tallyd

#include "service/removal/restore_pass.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "service/write/hand_changes.h"
#include "storage/merge_witness.h"

namespace tallyd {
namespace {

// A slice with fewer is followed by one twice as long, one with more by one half as long.
constexpr uint64_t kFewEvents = 1000;
constexpr uint64_t kManyEvents = 100'000;
constexpr int64_t kLeastSliceUs = kUsPerSecond;
constexpr size_t kMostBytes = 32u << 20;  // Of cells in memory.
constexpr size_t kBatchBytes = 1u << 20;
constexpr size_t kCellBytes = 16;  // Of a cell beside its text, about.

Error Stopping() { return Error(ErrorCode::kCancelled, "the daemon is stopping"); }

}  // namespace

RestorePass::RestorePass(const Parts& parts, FillWish wish, const RemovalNote& note,
                         LostCells* lost)
    : parts_(parts.of),
      stopping_(parts.stopping),
      wish_(std::move(wish)),
      note_(note),
      lost_(lost),
      store_(*parts_.store),
      source_(store_, *parts_.clock, wish_, *wish_.source, wish_.source_stored, note.filters),
      scan_(source_.input),
      mapper_(SourceOf(wish_, source_), *wish_.table, wish_.stored, source_.query.now, &store_),
      watch_(store_.WatchRows(*wish_.stored, note.time.from)) {}

Status RestorePass::Run() {
  int64_t width = parts_.slice_us;
  TimeUs end = note_.time.from;
  while (end > wish_.from && (lost_ == nullptr || !lost_->empty())) {
    if (stopping_) return Stopping();
    const TimeUs begin = end - std::min(width, end - wish_.from);
    const Status read = ReadSlice({begin, end});
    if (!read && read.error().code() != ErrorCode::kOverloaded) return read;
    if (!read) {
      width = std::max(width / 2, kLeastSliceUs);
      continue;
    }
    end = begin;
    if (events_ < kFewEvents) width = std::min(width * 2, kMaxTimeUs);
    if (events_ > kManyEvents) width = std::max(width / 2, kLeastSliceUs);
  }
  return {};
}

Status RestorePass::ReadSlice(const TimeRange& slice) {
  events_ = 0;
  removals_ = parts_.writer->gate().Removals(wish_.stream->name);
  watch_->Restart();
  scan_.Open(source_.KeysOf(slice), slice, {});
  const auto wants_row = [this](std::string_view key) {
    return lost_ == nullptr || lost_->HasRow(key);
  };
  const TimeUs expires_by = std::min(source_.query.now, store_.RetentionNow());
  auto cells = std::make_unique<NewestCells>(*wish_.stored, wants_row);
  std::vector<Found> found;
  while (true) {
    const Result<bool> more = scan_.Next();
    if (!more) return more.error();
    if (!*more) break;
    for (const EventFragment* event : scan_.fragments()) {
      mapper_.Map(*event, expires_by, cells.get());
      ++events_;
    }
    mapper_.TakeBytes();
    if (stopping_) return Stopping();
    if (cells->bytes() < kMostBytes) continue;
    // What comes later in the slice may be newer, and goes over it.
    if (Status put = Put(*cells, &found); !put) return put;
    cells = std::make_unique<NewestCells>(*wish_.stored, wants_row);
  }
  scan_.Close();
  if (Status put = Put(*cells, &found); !put) return put;
  for (const Found& cell : found) lost_->Drop(cell.row, {cell.family, cell.qualifier});
  return {};
}

Status RestorePass::Put(const NewestCells& cells, std::vector<Found>* found) {
  std::unique_ptr<Batch> batch = store_.NewBatch();
  size_t bytes = 0;
  Status done;
  const auto wants = [this](std::string_view key, const ColumnRef& column) {
    return lost_ == nullptr || lost_->Has(key, column);
  };
  cells.ForEach(wants, [&](std::string_view key, TimeUs time, const NewestCells::Cells& put) {
    if (!done) return;
    batch->Put(*wish_.stored, key, time, put.columns, put.values);
    stems_.AddRead(wish_.stored->id, key, {});
    bytes += key.size() + put.values.size() * kCellBytes;
    for (size_t i = 0; i < put.values.size(); ++i) {
      bytes += put.values[i].text_size();
      if (lost_ == nullptr) continue;
      found->push_back(
          {std::string(key), put.columns[i].family, std::string(put.columns[i].qualifier)});
    }
    if (bytes < kBatchBytes) return;
    done = Commit(std::exchange(batch, store_.NewBatch()));
    bytes = 0;
  });
  if (!done || batch->empty()) return done;
  return Commit(std::move(batch));
}

Status RestorePass::Commit(std::unique_ptr<Batch> batch) {
  if (parts_.before_commit) parts_.before_commit();
  const RowStems stems = std::exchange(stems_, RowStems());
  mapper_.TakeStems();  // Of all that was read.
  Status committed = parts_.writer->PutRead(
      TheDaemon(), {WriteKind::kRestore, wish_.stream->name, removals_, watch_, nullptr, &stems},
      std::move(batch));
  if (committed || committed.error().code() != ErrorCode::kConflict) return committed;
  if (store_.FindTable(wish_.table->name) != wish_.stored) return committed;
  return Error(ErrorCode::kOverloaded, "others wrote to the same rows meanwhile");
}

namespace {

bool IsAwaited(const RemovalNote& note, TableId table) {
  return note.tables.empty() || std::ranges::count(note.tables, table) > 0;
}

// Those that may have lost something, but for `seen`. The store may be ahead of the schema that was
// seen to: what is not in that one counts as out of the file.
std::vector<TableId> NotSeenTo(const Store& store, const RestoreTask& task,
                               const std::vector<TableId>& seen) {
  std::vector<TableId> awaited;
  for (const TablePtr& stored : store.Tables()) {
    const bool is_latest = stored->mode != TableMode::kHistory;
    if (!is_latest || stored->stream != task.note.stream) continue;
    if (!IsAwaited(task.note, stored->id) || std::ranges::count(seen, stored->id) > 0) continue;
    const auto lost = task.lost.find(stored->id);
    if (lost == task.lost.end() || !lost->second.empty()) awaited.push_back(stored->id);
  }
  return awaited;
}

}  // namespace

Result<std::vector<TableId>> RestoreLatest(const RestorePass::Parts& parts, RestoreTask* task) {
  const std::shared_ptr<const SchemaSnapshot> snapshot = parts.of.live_schema->snapshot();
  Store& store = *parts.of.store;
  if (!snapshot) return Stopping();
  std::vector<TableId> seen;
  const Stream* const stream = snapshot->schema->FindStream(task->note.stream);
  if (stream == nullptr) return NotSeenTo(store, *task, seen);
  for (const size_t index : stream->tables) {
    const Table& table = snapshot->schema->tables[index];
    if (!KeepsNewest(table)) continue;
    FillWish wish;
    wish.snapshot = snapshot;
    wish.stream = stream;
    wish.table = &table;
    wish.stored = store.FindTable(table.name);
    wish.before = task->note.time.from;
    if (wish.stored == nullptr || wish.stored->orphaned) continue;
    if (!IsAwaited(task->note, wish.stored->id)) continue;
    seen.push_back(wish.stored->id);
    const auto lost = task->lost.find(wish.stored->id);
    LostCells* const cells = lost == task->lost.end() ? nullptr : &lost->second;
    if (cells != nullptr) {
      const Status kept = cells->DropKept(store, wish.stored, task->note.time.to,
                                          parts.of.clock->Now());
      if (!kept) return kept.error();
      if (cells->empty()) continue;
    }
    const bool may_undo = cells == nullptr || task->has_waited;
    if (may_undo && WasChangedByHand(table.name, HandChange::kDeleted, &store)) {
      spdlog::warn("latest rows of {} stay without what a removal took: rows of it alone were "
                   "deleted, and would come back", table.name);
      continue;
    }
    FindPutSource(store, *parts.of.clock, &wish);
    if (wish.source == nullptr) {
      spdlog::warn("latest rows of {} stay without what a removal took: {}", table.name, wish.why);
      continue;
    }
    const std::string source = wish.source->name;
    const TablePtr source_stored = wish.source_stored;
    const Status restored = RestorePass(parts, std::move(wish), task->note, cells).Run();
    if (!restored) return restored.error();
    // Found only now, by reading them.
    if (MergedIn(store, *source_stored).any) {
      spdlog::warn("latest rows of {} may stay without some of what a removal took: in {}, which "
                   "they come from, events fell on cells of others",
                   table.name, source);
    }
  }
  return NotSeenTo(store, *task, seen);
}

}  // namespace tallyd

#include "storage/leveldb/seal/file_jobs.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/seal/merge_policy.h"
#include "storage/leveldb/seal/rewrite.h"

namespace tallyd {

Result<Progress> RewriteFiles(SealContext* context, const View::Files& from,
                              std::function<Status()> yield) {
  Result<std::unique_ptr<Lease>> lease = context->database().NewLeaseOfFiles();
  if (!lease) return lease.error();
  Result<MergedFiles> merged = MergeFiles(context->Input(std::move(yield)), lease->get(), from);
  lease->reset();
  const bool damaged =
      std::any_of(from.begin(), from.end(), [](const auto& file) { return file->is_damaged(); });
  if (!merged && damaged) return Progress::kSome;
  if (!merged) return merged.error();
  const Status synced = context->SyncAppliedDeletes();
  if (!synced) {
    for (const BlockFilePtr& file : merged->files) file->Drop();
    return synced.error();
  }
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : merged->files) bytes += file->info().bytes;
  const Status replaced = context->Replace(context->NewBatch(), from, merged->files, nullptr);
  if (!replaced) return replaced.error();
  context->metrics().merged_entries.Increment(static_cast<double>(merged->entries));
  context->metrics().merged_bytes.Increment(static_cast<double>(bytes));
  context->metrics().CountDropped(merged->dropped);
  return Progress::kSome;
}

Result<Progress> MergeJob::Work(const ViewPtr& view) {
  const bool settles = context_.settle.active;
  const Time now = std::chrono::steady_clock::now();
  if (idle_.lock() == view && !settles && now < next_) return Progress::kNone;
  const bool patient = now < context_.burst_until;
  const View::Files chosen = Choose(*view, patient);
  if (chosen.empty()) {
    if (settles) return Progress::kNone;
    idle_ = view;
    next_ = patient ? context_.burst_until : kNever;
    return Progress::kNone;
  }
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : chosen) bytes += file->info().bytes;
  const Status room = context_.NeedRoom(bytes);
  if (!room) return room.error();
  return RewriteFiles(&context_, chosen, yield_);
}

// The least of those that are due, so that a small table never waits for all merges of a large one.
// Empty: nothing.
View::Files MergeJob::Choose(const View& view, bool patient) const {
  const SettleGoal& settle = context_.settle;
  View::Files least;
  uint64_t least_bytes = std::numeric_limits<uint64_t>::max();
  // What a merge drops of a table with max_bytes need not be cut off.
  std::set<TableId> capped;
  for (const TablePtr& table : context_.state().catalogue.Tables()) {
    if (table->max_bytes > 0) capped.insert(table->id);
  }
  for (const auto& [table, files] : view.files) {
    const bool waits = patient && !capped.contains(table);
    std::map<std::pair<int64_t, TimeUs>, View::Files> windows;
    for (const BlockFilePtr& file : *files) {
      if (file->is_damaged()) continue;
      if (settle.active && file->info().max_sequence > settle.sequence) continue;
      windows[{file->info().width, file->info().window}].push_back(file);
    }
    for (const auto& [window, of_window] : windows) {
      std::vector<uint64_t> sizes;
      for (const BlockFilePtr& file : of_window) sizes.push_back(file->info().bytes);
      const auto places = settle.active ? ChooseWholeMerge(sizes) : ChooseMerge(sizes, waits);
      if (places.size() < 2) continue;
      uint64_t bytes = 0;
      for (const size_t place : places) bytes += sizes[place];
      if (bytes >= least_bytes) continue;
      least_bytes = bytes;
      least.clear();
      for (const size_t place : places) least.push_back(of_window[place]);
    }
  }
  return least;
}

namespace {

// A file is worth writing again when at least one in so many of its entries is hidden.
constexpr uint64_t kHiddenShare = 4;
// Readers look at every delete of a table for every row: so many are borne.
constexpr size_t kManyDeletes = 64;

TimeUs Now(const SealContext& context) { return context.clock().Now(); }

}  // namespace

Result<Progress> PurgeJob::Work(const ViewPtr& view) {
  if (view->deletes.empty()) return Progress::kNone;
  const bool same = idle_.lock() == view && !context_.settle.active;
  if (same && std::chrono::steady_clock::now() < next_) return Progress::kNone;
  if (idle_.lock() != view) ForgetGone(*view);
  next_ = kNever;
  for (const auto& [table, deletes] : view->deletes) {
    const Result<Progress> purged = Purge(*view, table);
    if (!purged || *purged == Progress::kSome) return purged;
  }
  idle_ = view;
  return Progress::kNone;
}

Result<Progress> PurgeJob::Purge(const View& view, TableId table) {
  const DeleteList& deletes = view.DeletesOf(table);
  std::map<uint64_t, Touched> touched;  // By number of the file.
  for (const auto& deleted : deletes) {
    if (deleted->sequence > context_.state().sealed_sequence) continue;
    bool hides_any = false;
    for (const BlockFilePtr& file : view.FilesOf(table)) {
      const std::optional<uint64_t> hidden = CountHidden(file, *deleted);
      hides_any = hides_any || hidden != 0;
      if (!hidden || *hidden == 0) continue;
      Touched& of_file = touched[file->info().number];
      of_file.file = file;
      of_file.hidden += *hidden;
      of_file.oldest = std::min(of_file.oldest, deleted->at);
    }
    if (hides_any) continue;
    const Status forgotten = Forget(*deleted);
    if (!forgotten) return forgotten.error();
    return Progress::kSome;
  }
  for (const auto& [number, of_file] : touched) {
    if (!IsDue(of_file, deletes.size())) continue;
    const Status room = context_.NeedRoomToFree(of_file.file->info().bytes);
    if (!room) return room.error();
    return RewriteFiles(&context_, {of_file.file}, yield_);
  }
  return Progress::kNone;
}

std::optional<uint64_t> PurgeJob::CountHidden(const BlockFilePtr& file,
                                              const DeleteRange& deleted) {
  if (!deleted.Touches(file->first_key(), file->last_key(), file->info().deletes) ||
      !file->info().Overlaps(deleted.what.cells)) {
    return 0;
  }
  std::set<uint64_t>& untouched = untouched_[deleted.sequence];
  if (untouched.contains(file->info().number)) return 0;
  if (file->is_damaged()) return std::nullopt;
  const Result<BlockIndexPtr> index = file->Index();
  if (!index) return std::nullopt;
  const KeyRange& rows = deleted.what.rows;
  uint64_t hidden = 0;
  const auto& blocks = (*index)->blocks();
  for (size_t i = (*index)->FindBlock(rows.start); i < blocks.size(); ++i) {
    if (!rows.end.empty() && blocks[i].first_key >= rows.end) break;
    if (blocks[i].Overlaps(deleted.what.cells)) hidden += blocks[i].entries;
  }
  if (hidden == 0) untouched.insert(file->info().number);
  return hidden;
}

bool PurgeJob::IsDue(const Touched& touched, size_t deletes) {
  if (context_.settle.active || deletes > kManyDeletes) return true;
  if (touched.hidden >= touched.file->info().entries / kHiddenShare) return true;
  // It takes its time, too.
  const int64_t patience = context_.config().purge_deadline_us / 4 * 3;
  const TimeUs left = touched.oldest + patience - Now(context_);
  if (left <= 0) return true;
  next_ = std::min(next_, LookAgain(left));
  return false;
}

Status PurgeJob::Forget(const DeleteRange& deleted) {
  auto batch = context_.NewBatch();
  batch->DropRecord(DeleteKey(deleted.table, deleted.sequence));
  const Status forgotten = context_.Replace(std::move(batch), {}, {},
                                            [&](View* changed) { changed->RemoveDelete(deleted); });
  if (forgotten) untouched_.erase(deleted.sequence);
  return forgotten;
}

void PurgeJob::ForgetGone(const View& view) {
  std::map<uint64_t, std::set<uint64_t>> left;
  for (const auto& [table, deletes] : view.deletes) {
    std::set<uint64_t> numbers;
    for (const BlockFilePtr& file : view.FilesOf(table)) numbers.insert(file->info().number);
    for (const auto& deleted : *deletes) {
      auto known = untouched_.extract(deleted->sequence);
      if (known.empty()) continue;
      std::erase_if(known.mapped(), [&](uint64_t number) { return !numbers.contains(number); });
      left.insert(std::move(known));
    }
  }
  untouched_ = std::move(left);
}

namespace {

// Of a file, before more urgent work is asked for.
constexpr size_t kBlocksAtOnce = 64;

BlockFilePtr FindFile(const View& view, uint64_t number) {
  for (const auto& [table, files] : view.files) {
    for (const BlockFilePtr& file : *files) {
      if (file->info().number == number) return file;
    }
  }
  return nullptr;
}

}  // namespace

DamageJob::DamageJob(SealContext* context) : context_(*context) {
  for (const DamagedFile& file : context_.database().shelf().damaged().Noted(true)) {
    to_check_.push_back(file.number);
  }
}

Result<Progress> DamageJob::Work(const ViewPtr& view) {
  Result<Progress> noted = Note(*view);
  if (!noted || *noted == Progress::kSome) return noted;
  return CheckNext(*view);
}

// What is dropped has another note already, or goes without one.
Result<Progress> DamageJob::Note(const View& view) {
  DamagedFiles& damaged = context_.database().shelf().damaged();
  for (const DamagedFile& file : damaged.Noted(false)) {
    if (!FindFile(view, file.number)) continue;
    const Status noted = context_.CommitRecords(
        {{FileNoteKey(file.number), EncodeFileNote({FileNote::Kind::kDamaged, file.reason})}});
    if (!noted) return noted.error();
    damaged.SetNoted(file.number);
    return Progress::kSome;
  }
  return Progress::kNone;
}

Result<Progress> DamageJob::CheckNext(const View& view) {
  // One that was dropped meanwhile has another note.
  if (check_.file && !FindFile(view, check_.file->info().number)) check_ = {};
  while (!check_.file && !to_check_.empty()) {
    check_ = {FindFile(view, to_check_.back()), 0};
    to_check_.pop_back();
  }
  if (!check_.file) return Progress::kNone;
  const Result<bool> more = ReadOn();
  if (more && *more) return Progress::kSome;
  // Also where it cannot be read now: a restart looks again.
  const Status done = more ? SetWell() : Status();
  if (done) check_ = {};
  return done ? Result<Progress>(Progress::kSome) : done.error();
}

Result<bool> DamageJob::ReadOn() {
  const Result<BlockIndexPtr> index = check_.file->Index();
  if (!index) return index.error();
  const auto& blocks = (*index)->blocks();
  for (size_t i = 0; i < kBlocksAtOnce && check_.block < blocks.size(); ++i, ++check_.block) {
    if (context_.stopping()) return Error(ErrorCode::kCancelled, "the store is closing");
    const Status read = ReadBlock(blocks[check_.block]);
    if (!read) return read.error();
    context_.Pace();
  }
  return check_.block < blocks.size();
}

Status DamageJob::ReadBlock(const BlockPlace& place) {
  Status done = check_.file->Read(place, 0, place.size, &bytes_);
  if (done) done = block_.Open(std::string_view(bytes_).substr(0, place.head_size));
  const size_t columns = done ? block_.schema()->columns.size() : 0;
  for (uint32_t column = 0; done && column < columns; ++column) {
    const ColumnBlock::Stream stream = block_.StreamOf(column);
    if (uint64_t{stream.offset} + stream.size > bytes_.size()) {
      return Error(ErrorCode::kCorruption, "a column reaches beyond its block");
    }
    const std::string_view bytes(bytes_);
    done = block_.Decode(column, bytes.substr(stream.offset, stream.size), &data_);
  }
  return done ? block_.CheckEntriesHaveCells() : done;
}

Status DamageJob::SetWell() {
  const uint64_t number = check_.file->info().number;
  const Status cleared = context_.CommitRecords({{FileNoteKey(number), std::string()}});
  if (!cleared) return cleared;
  context_.database().shelf().damaged().Forget(number);
  spdlog::info("store: {} was damaged, and is whole again", check_.file->path());
  return {};
}

}  // namespace tallyd

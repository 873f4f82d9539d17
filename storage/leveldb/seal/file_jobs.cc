#include "storage/leveldb/seal/file_jobs.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/seal/hidden_entries.h"
#include "storage/leveldb/seal/merge_policy.h"
#include "storage/leveldb/seal/rewrite.h"

namespace tallyd {

Result<Progress> RewriteFiles(SealContext* context, const View::Files& from,
                              std::function<Status()> yield) {
  Result<std::unique_ptr<Lease>> lease = context->database().NewLeaseOfFiles();
  if (!lease) return lease.error();
  Result<MergedFiles> merged = MergeFiles(context->Input(std::move(yield)), lease->get(), from);
  lease->reset();
  if (!merged) {
    // Which of them it was is known from the next time on.
    bool learned = false;
    for (const BlockFilePtr& file : from) {
      const bool failed = file->TakeFailedRead();
      if (failed) context->SetAside(*file, merged.error());
      learned = learned || failed || file->is_damaged();
    }
    if (learned) return Progress::kSome;
    return merged.error();
  }
  for (const BlockFilePtr& file : from) {
    file->TakeFailedRead();
    context->NoteRead(file->info().number);
  }
  const Status synced = context->SyncAppliedDeletes();
  if (!synced) {
    for (const BlockFilePtr& file : merged->files) file->Drop();
    return synced.error();
  }
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : merged->files) bytes += file->info().bytes;
  const Status replaced =
      context->Replace(context->NewBatch(), from, merged->files, nullptr, merged->merges);
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
    next_ = std::min(patient ? context_.burst_until : kNever, context_.next_of_aside());
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
      if (file->is_damaged() || context_.IsSetAside(file->info().number)) continue;
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
// So many blocks are looked at before more urgent work is asked for.
constexpr size_t kLooksAtOnce = 64;

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
  if (!context_.settle.active) idle_ = view;
  return Progress::kNone;
}

Result<Progress> PurgeJob::Purge(const View& view, TableId table) {
  const DeleteList& deletes = view.DeletesOf(table);
  std::map<uint64_t, Touched> touched;  // By number of the file.
  looks_ = 0;
  for (const auto& deleted : deletes) {
    if (deleted->sequence > context_.state().sealed_sequence) continue;
    bool hides_any = false;
    for (const BlockFilePtr& file : view.FilesOf(table)) {
      // What was seen so far is known the next time; heads may be due.
      if (looks_ >= kLooksAtOnce) return Progress::kSome;
      const std::optional<uint64_t> hidden = HiddenOf(file, *deleted);
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
    if (context_.IsSetAside(number) || of_file.file->is_damaged()) continue;
    if (!IsDue(of_file, deletes.size())) continue;
    const Status room = context_.NeedRoomToFree(of_file.file->info().bytes);
    if (!room) return room.error();
    return RewriteFiles(&context_, {of_file.file}, yield_);
  }
  return Progress::kNone;
}

// Null: it cannot be told now.
std::optional<uint64_t> PurgeJob::HiddenOf(const BlockFilePtr& file, const DeleteRange& deleted) {
  std::map<uint64_t, uint64_t>& known = hidden_[deleted.sequence];
  const auto found = known.find(file->info().number);
  if (found != known.end()) return found->second;
  if (file->is_damaged()) return std::nullopt;
  if (context_.IsSetAside(file->info().number)) {
    next_ = std::min(next_, context_.next_of_aside());
    return std::nullopt;
  }
  const Result<uint64_t> hidden = CountHidden(*file, deleted, [this]() -> Status {
    ++looks_;
    context_.Pace();
    if (!context_.stopping()) return {};
    return Error(ErrorCode::kCancelled, "the store is closing");
  });
  if (hidden) return known[file->info().number] = *hidden;
  if (file->TakeFailedRead()) {
    context_.SetAside(*file, hidden.error());
    next_ = std::min(next_, context_.next_of_aside());
  }
  return std::nullopt;
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
  if (forgotten) hidden_.erase(deleted.sequence);
  return forgotten;
}

void PurgeJob::ForgetGone(const View& view) {
  std::map<uint64_t, std::map<uint64_t, uint64_t>> left;
  for (const auto& [table, deletes] : view.deletes) {
    std::set<uint64_t> numbers;
    for (const BlockFilePtr& file : view.FilesOf(table)) numbers.insert(file->info().number);
    for (const auto& deleted : *deletes) {
      auto known = hidden_.extract(deleted->sequence);
      if (known.empty()) continue;
      std::erase_if(known.mapped(), [&](const auto& of) { return !numbers.contains(of.first); });
      left.insert(std::move(known));
    }
  }
  hidden_ = std::move(left);
}

namespace {

// Of a file, before more urgent work is asked for.
constexpr size_t kBlocksAtOnce = 64;
// Of a file that a call of the system failed to read.
constexpr auto kBetweenTries = std::chrono::minutes(1);

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
  const Time now = std::chrono::steady_clock::now();
  if (now < not_before_) return Progress::kNone;
  not_before_ = Time::min();
  // One that was dropped meanwhile has another note.
  if (check_.file && !FindFile(view, check_.file->info().number)) check_ = {};
  while (!check_.file && !to_check_.empty()) {
    check_ = {FindFile(view, to_check_.back()), 0};
    to_check_.pop_back();
  }
  if (!check_.file) return Progress::kNone;
  const Result<bool> more = ReadOn();
  if (more && *more) return Progress::kSome;
  if (!more && more.error().code() == ErrorCode::kCancelled) return more.error();
  if (!more && check_.file->TakeFailedRead()) {
    to_check_.insert(to_check_.begin(), std::exchange(check_, {}).file->info().number);
    not_before_ = now + kBetweenTries;
    return Progress::kSome;
  }
  // Also where it is as damaged as it was: a restart looks again.
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

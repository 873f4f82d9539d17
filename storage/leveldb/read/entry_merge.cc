#include "storage/leveldb/read/entry_merge.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tallyd {
namespace {

constexpr uint32_t kStepsBetweenChecks = 1024;

// The smallest key after `key`.
std::string After(std::string_view key) { return std::string(key).append(1, '\0'); }

bool Overlap(const KeyRange& a, const KeyRange& b) {
  return (a.end.empty() || b.start < a.end) && (b.end.empty() || a.start < b.end);
}

}  // namespace

EntryMerge::EntryMerge(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
                       std::unique_ptr<Lease> lease, const DeleteList& deletes, MergeCounts* merges)
    : table_(table->id),
      merges_(merges),
      reverse_(spec.reverse),
      keys_only_(spec.keys_only),
      allows_runs_(!spec.reverse && !spec.keys_only && spec.versions == 0 && spec.limit == 0),
      lease_(std::move(lease)),
      plan_(std::move(table), spec, sets,
            merges == nullptr ? std::vector<Telling>() : merges->TellingOf(table_)),
      assembler_(&plan_, spec, CellMerge::Versions::kAll),
      from_(std::max({spec.cells.from, plan_.oldest(), TimeUs{0}})),
      to_(plan_.counts_versions() ? kMaxTimeUs + 1 : std::min(spec.cells.to, kMaxTimeUs + 1)),
      ranges_(spec),
      rows_left_(spec.limit > 0 ? spec.limit : std::numeric_limits<uint64_t>::max()) {
  nothing_ = spec.cells.is_empty() || from_ >= to_ || !plan_.any_visible();
  if (ranges_.done()) return;
  const KeyRange hull = ranges_.Hull();
  for (const auto& deleted : deletes) {
    if (Overlap(hull, deleted->what.rows)) deletes_.push_back(deleted);
  }
}

Result<bool> EntryMerge::NextRow() {
  if (nothing_ || ranges_.done() || rows_left_ == 0) return false;
  const LeaseAccess access(lease_.get());
  if (!access) return Reopening();
  for (; !ranges_.done(); ranges_.Next(), positioned_ = false) {
    const Result<bool> found = NextInRange(access);
    if (!found) return found;
    if (!*found) continue;
    --rows_left_;
    return true;
  }
  return false;
}

Result<bool> EntryMerge::NextInRange(const LeaseAccess& access) {
  const Status prepared = Prepare(access);
  if (!prepared) return prepared.error();
  return reverse_ ? NextBackward(access) : NextForward(access);
}

void EntryMerge::SkipTo(std::string_view key) {
  if (any_row_ && (reverse_ ? key >= row_key_ : key <= row_key_)) return;
  ranges_.SkipTo(key);
  positioned_ = false;
}

// The iterators belong to the lease, and whoever closes the database takes them away.
Status EntryMerge::Prepare(const LeaseAccess& access) {
  if (!prepared_) OpenSources(access.view());
  prepared_ = true;
  for (size_t i = 0; i < heads_.size(); ++i) heads_[i]->Use(&access.iterator(i));
  return positioned_ ? Status() : Position();
}

void EntryMerge::OpenSources(const View& view) {
  for (size_t i = 0; i < view.heads.size(); ++i) {
    heads_.push_back(std::make_unique<HeadSource>(table_, plan_.sets()));
    sources_.push_back(heads_.back().get());
  }
  const KeyRange hull = ranges_.Hull();
  for (const BlockFilePtr& file : view.FilesOf(table_)) {
    if (!file->info().Overlaps({from_, to_}) || file->last_key() < hull.start ||
        (!hull.end.empty() && file->first_key() >= hull.end)) {
      continue;
    }
    files_.push_back(
        std::make_unique<BlockSource>(file, &plan_, TimeRange{from_, to_}, BlockReads::kCached));
    sources_.push_back(files_.back().get());
  }
}

// Sources move in the direction of the scan only: those that are there already, or at their ends,
// stay.
Status EntryMerge::Position() {
  for (EntrySource* source : sources_) {
    const bool is_before = source->valid() && (reverse_ ? !ranges_.IsBeforeEnd(source->row_key())
                                                        : source->row_key() < ranges_.at().start);
    if (placed_ && !is_before) continue;
    const Status moved =
        reverse_ ? source->SeekRowBefore(ranges_.at().end) : source->SeekRow(ranges_.at().start);
    if (!moved) return moved;
  }
  placed_ = true;
  positioned_ = true;
  if (!reverse_) merge_.Assign(sources_);
  return {};
}

Result<bool> EntryMerge::NextForward(const LeaseAccess& access) {
  while (true) {
    const EntrySource* first = Top();
    if (first == nullptr || !ranges_.IsBeforeEnd(first->row_key())) return false;
    BeginRow(first->row_key());
    const Status read = ReadRow(access);
    if (!read) return read.error();
    if (FinishRow()) return true;
  }
}

// A source that gives way to another may be behind all that is wanted: its block is held no longer.
EntrySource* EntryMerge::Top() {
  EntrySource* const top = merge_.top();
  EntrySource* const before = std::exchange(last_top_, top);
  if (before == nullptr || before == top) return top;
  if (!before->valid() || ranges_.IsBehindAll(before->row_key())) before->Release();
  return top;
}

Result<bool> EntryMerge::NextBackward(const LeaseAccess& access) {
  while (true) {
    EntrySource* last = nullptr;
    for (EntrySource* source : sources_) {
      if (!source->valid()) continue;
      if (last == nullptr || source->row_key() > last->row_key()) last = source;
    }
    if (last == nullptr || last->row_key() < ranges_.at().start) return false;
    BeginRow(last->row_key());
    std::vector<EntrySource*> in_row;
    for (EntrySource* source : sources_) {
      if (source->valid() && source->row_key() == row_key_) in_row.push_back(source);
    }
    merge_.Assign(in_row);
    const Status read = ReadRow(access);
    if (!read) return read.error();
    for (EntrySource* source : in_row) {
      const Status back = source->SeekRowBefore(row_key_);
      if (!back) return back.error();
      if (!source->valid() || ranges_.IsBehindAll(source->row_key())) source->Release();
    }
    if (FinishRow()) return true;
  }
}

// Takes the row's entries, and moves the sources that have some behind the row.
Status EntryMerge::ReadRow(const LeaseAccess& access) {
  bool done = false;
  while (EntrySource* source = merge_.top()) {
    if (source->row_key() != row_key_) return {};
    Status went = CheckStop(access);
    if (went && !done) went = ReadEntry(source, &done);
    if (went && done) {
      if (reverse_) return {};  // The caller seeks anyway.
      went = LeaveRow(source);
    }
    if (!went) return went;
    merge_.TopMoved();
  }
  return {};
}

// *done: the row has nothing more to give.
Status EntryMerge::ReadEntry(EntrySource* source, bool* done) {
  const TimeUs time = source->time();
  if (time >= to_) return source->SkipNewer(to_);
  *done = time < from_ || (keys_only_ && assembler_.HasCellAfter(time));
  if (*done) return {};
  const Status added = source->AddTo(&assembler_);
  if (!added) return added;
  return source->Next();
}

Status EntryMerge::LeaveRow(EntrySource* source) {
  for (int step = 0; source->valid() && source->row_key() == row_key_; ++step) {
    const Status moved =
        step < kStepsBeforeSeek ? source->Next() : source->SeekRow(After(row_key_));
    if (!moved) return moved;
  }
  return {};
}

void EntryMerge::BeginRow(std::string_view row_key) {
  row_key_.assign(row_key);
  any_row_ = true;
  assembler_.Begin();
  for (const auto& deleted : deletes_) {
    if (deleted->CoversRow(row_key_)) assembler_.Hide(deleted.get());
  }
}

bool EntryMerge::FinishRow() {
  for (const RowAssembler::Merged& merged : assembler_.merged()) {
    if (merges_ == nullptr) break;
    merges_->Met(table_, RowWatch::PlaceOf(row_key_, merged.time), merged.events);
  }
  if (!assembler_.Finish()) return false;
  assembler_.SetKey(row_key_);
  return true;
}

Result<BlockSource*> EntryMerge::RunSource(const LeaseAccess& access, std::string* end) {
  if (nothing_ || !allows_runs_ || plan_.counts_versions()) return nullptr;
  const EntrySource* first = nullptr;
  for (; !ranges_.done(); ranges_.Next(), positioned_ = false) {
    const Status prepared = Prepare(access);
    if (!prepared) return prepared.error();
    first = Top();
    if (first == nullptr) return nullptr;
    if (ranges_.IsBeforeEnd(first->row_key())) break;
  }
  if (ranges_.done()) return nullptr;
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const auto& file) { return file.get() == first; });
  const std::optional<std::string_view> bound = merge_.NextRowOfOthers();
  if (found == files_.end() || bound == first->row_key()) return nullptr;
  BlockSource* source = found->get();
  const BlockPlace& place = source->place();
  for (const auto& deleted : deletes_) {
    if (deleted->Touches(place.first_key, place.last_key, source->file().info().deletes))
      return nullptr;
  }
  *end = ranges_.at().end;
  if (bound && ranges_.IsBeforeEnd(*bound)) end->assign(*bound);
  plan_.BeginRow();
  return source;
}

Status EntryMerge::CheckStop(const LeaseAccess& access) {
  if (++steps_ % kStepsBetweenChecks != 0 || !access.must_stop()) return {};
  return Reopening();
}

}  // namespace tallyd

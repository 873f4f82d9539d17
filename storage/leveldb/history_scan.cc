#include "storage/leveldb/history_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/leveldb/status.h"

namespace tallyd {
namespace {

// So many entries are stepped over before a seek, which costs as much as a few steps.
constexpr int kStepsBeforeSeek = 6;
constexpr uint32_t kStepsBetweenChecks = 1024;

Error Malformed(std::string_view key) {
  EntryKey entry;
  std::string row_key;
  if (ParseEntryKey(key, &entry)) DecodeRowPrefix(entry.row_prefix, &row_key);
  return Error(ErrorCode::kCorruption,
               fmt::format("a stored entry of row \"{}\" is malformed", row_key));
}

Error Reopening() {
  return Error(ErrorCode::kUnavailable, "the store reopened its files during the scan; try again");
}

}  // namespace

HistoryScan::HistoryScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
                         std::unique_ptr<Lease> lease, const DeleteList& deletes)
    : table_(table->id),
      reverse_(spec.reverse),
      keys_only_(spec.keys_only),
      lease_(std::move(lease)),
      plan_(std::move(table), spec, sets),
      assembler_(&plan_, spec, RowAssembler::Versions::kAll),
      from_(std::max({spec.cells.from, plan_.oldest(), TimeUs{0}})),
      to_(plan_.counts_versions() ? kMaxTimeUs + 1 : std::min(spec.cells.to, kMaxTimeUs + 1)) {
  KeyRange range = DatabaseRange(KeySpace::kRows, table_, spec.range);
  start_ = std::move(range.start);
  end_ = std::move(range.end);
  if (spec.cells.is_empty() || from_ >= to_ || !plan_.any_visible()) end_ = start_;
  for (const auto& deleted : deletes) {
    if (deleted->database.start < end_ && start_ < deleted->database.end) {
      deletes_.push_back(deleted);
    }
  }
}

Result<bool> HistoryScan::Next() {
  if (start_ >= end_) return false;
  const Access access(lease_.get());
  if (!access) return Reopening();
  return reverse_ ? NextBackward(access) : NextForward(access);
}

void HistoryScan::SkipTo(std::string_view key) {
  std::string target = RowPrefix(KeySpace::kRows, table_, key);
  if (reverse_) {
    target = AfterRow(target);
    if (target >= end_ || (!row_prefix_.empty() && target > row_prefix_)) return;
    end_ = std::move(target);
  } else {
    if (target <= start_ || target <= row_prefix_) return;
    start_ = std::move(target);
  }
  positioned_ = false;
}

Result<bool> HistoryScan::NextForward(const Access& access) {
  leveldb::Iterator& it = access.iterator();
  if (!positioned_) it.Seek(ToSlice(start_));
  positioned_ = true;
  while (it.Valid()) {
    const std::string_view key = ToView(it.key());
    if (key >= end_) return false;
    EntryKey entry;
    if (!ParseEntryKey(key, &entry)) return Malformed(key);
    BeginRow(entry.row_prefix);
    const Status read = ReadForwards(access, &it);
    if (!read) return read.error();
    LeaveRow(&it);
    if (FinishRow()) return true;
  }
  const Status status = FromLevelDb(it.status());
  if (!status) return status.error();
  return false;
}

Result<bool> HistoryScan::NextBackward(const Access& access) {
  leveldb::Iterator& it = access.iterator();
  while (true) {
    if (!positioned_) {
      it.Seek(ToSlice(end_));
      if (it.Valid()) {
        it.Prev();
      } else if (it.status().ok()) {
        it.SeekToLast();
      }
    }
    positioned_ = true;
    if (!it.Valid()) break;
    const std::string_view key = ToView(it.key());
    if (key < start_) return false;
    EntryKey entry;
    if (!ParseEntryKey(key, &entry)) return Malformed(key);
    BeginRow(entry.row_prefix);
    const Status read = ReadLastEntry(access, &it, entry);
    if (!read) return read.error();
    if (FinishRow()) return true;
  }
  const Status status = FromLevelDb(it.status());
  if (!status) return status.error();
  return false;
}

// `it` stands at the row's last entry, and then at the last entry of the row before; or the row is
// read forwards, and the next call looks for that entry.
Status HistoryScan::ReadLastEntry(const Access& access, leveldb::Iterator* it,
                                  const EntryKey& last) {
  const Status go_on = CheckStop(access);
  if (!go_on) return go_on;
  const TimeUs time = last.time;
  const uint64_t sequence = last.sequence;
  scratch_.assign(ToView(it->value()));
  it->Prev();
  if (!it->Valid() && !it->status().ok()) return FromLevelDb(it->status());
  if (!IsInRow(*it)) {
    if (time < from_ || time >= to_) return {};
    if (assembler_.Add(time, sequence, scratch_)) return {};
    std::string key = row_prefix_;
    return Malformed(key.append(kEntrySuffixBytes, '\xff'));
  }
  scratch_.clear();
  AppendEntrySeek(row_prefix_, to_, &scratch_);
  leveldb::Iterator& forwards = access.iterator(1);
  forwards.Seek(ToSlice(scratch_));
  end_ = row_prefix_;
  positioned_ = false;
  return ReadForwards(access, &forwards);
}

// Adds what is wanted of the row's entries from where `it` stands.
Status HistoryScan::ReadForwards(const Access& access, leveldb::Iterator* it) {
  while (IsInRow(*it)) {
    const Status go_on = CheckStop(access);
    if (!go_on) return go_on;
    const std::string_view key = ToView(it->key());
    EntryKey entry;
    if (!ParseEntryKey(key, &entry)) return Malformed(key);
    if (entry.time >= to_) {
      SkipNewer(it);
      continue;
    }
    if (entry.time < from_) return {};
    if (keys_only_ && assembler_.HasCellAfter(entry.time)) return {};
    if (!assembler_.Add(entry.time, entry.sequence, ToView(it->value()))) return Malformed(key);
    it->Next();
  }
  return FromLevelDb(it->status());
}

void HistoryScan::SkipNewer(leveldb::Iterator* it) const {
  EntryKey entry;
  for (int step = 0; step < kStepsBeforeSeek; ++step) {
    it->Next();
    if (!IsInRow(*it) || !ParseEntryKey(ToView(it->key()), &entry) || entry.time < to_) return;
  }
  std::string target;
  AppendEntrySeek(row_prefix_, to_, &target);
  it->Seek(ToSlice(target));
}

void HistoryScan::LeaveRow(leveldb::Iterator* it) const {
  for (int step = 0; IsInRow(*it); ++step) {
    if (step == kStepsBeforeSeek) {
      it->Seek(ToSlice(AfterRow(row_prefix_)));
      return;
    }
    it->Next();
  }
}

void HistoryScan::BeginRow(std::string_view row_prefix) {
  row_prefix_.assign(row_prefix);
  assembler_.Begin();
  for (const auto& deleted : deletes_) {
    if (deleted->CoversRow(row_prefix_)) assembler_.Hide(deleted.get());
  }
}

bool HistoryScan::FinishRow() {
  if (!assembler_.Finish()) return false;
  DecodeRowPrefix(row_prefix_, &row_key_);
  assembler_.SetKey(row_key_);
  return true;
}

bool HistoryScan::IsInRow(const leveldb::Iterator& it) const {
  if (!it.Valid()) return false;
  const std::string_view key = ToView(it.key());
  return key.size() == row_prefix_.size() + kEntrySuffixBytes && key.starts_with(row_prefix_);
}

Status HistoryScan::CheckStop(const Access& access) {
  if (++steps_ % kStepsBetweenChecks != 0 || !access.must_stop()) return {};
  return Reopening();
}

}  // namespace tallyd

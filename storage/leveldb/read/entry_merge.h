// EntryMerge: the entries of a history table from all heads and block files of one lease, as rows.
// Leaves out what cannot be asked for by seeking: times outside the spec's range (unless newer
// cells count towards max_versions), times past every age, the rest of a row once it has given what
// is wanted. Not thread-safe; may move between threads.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ENTRY_MERGE_H_
#define TALLYD_STORAGE_LEVELDB_READ_ENTRY_MERGE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/catalogue/merge_counts.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/read/block_source.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/read/row_assembler.h"
#include "storage/scan.h"

namespace tallyd {

// ScanRanges: the key ranges of a scan, one after the other in its direction, as far as SkipTo has
// not passed over them. A plain value.
class ScanRanges {
 public:
  explicit ScanRanges(const ScanSpec& spec) : reverse_(spec.reverse), ranges_(spec.ranges) {
    if (reverse_) std::reverse(ranges_.begin(), ranges_.end());
    DropEmpty();
  }

  bool done() const { return at_ == ranges_.size(); }
  // The range at hand, which is not empty. REQUIRES for these: !done().
  const KeyRange& at() const { return ranges_[at_]; }
  bool IsBeforeEnd(std::string_view key) const { return at().end.empty() || key < at().end; }
  void Next() {
    ++at_;
    DropEmpty();
  }
  // Whether no range is at the key or, in the scan's direction, behind it.
  bool IsBehindAll(std::string_view key) const {
    const KeyRange& last = ranges_.back();
    return reverse_ ? key < last.start : !last.end.empty() && key >= last.end;
  }
  // From the first key of the range at hand, or of the last one, to the end of the other.
  KeyRange Hull() const {
    const KeyRange& last = ranges_.back();
    return reverse_ ? KeyRange{last.start, at().end} : KeyRange{at().start, last.end};
  }

  // Nothing before `key` (reverse: behind it) is wanted any more.
  void SkipTo(std::string_view key) { reverse_ ? Clip(After(key)) : Clip(key); }
  // Nor the row with that key itself.
  void Passed(std::string_view key) { reverse_ ? Clip(key) : Clip(After(key)); }

 private:
  static std::string After(std::string_view key) { return std::string(key).append(1, '\0'); }

  void Clip(std::string_view bound) {
    for (size_t i = at_; i < ranges_.size(); ++i) {
      KeyRange& range = ranges_[i];
      if (!reverse_ && range.start < bound) {
        range.start = bound;
      } else if (reverse_ && (range.end.empty() || bound < range.end)) {
        range.end = bound;
      } else {
        break;
      }
    }
    DropEmpty();
  }

  void DropEmpty() {
    while (!done() && !at().end.empty() && at().start >= at().end) ++at_;
  }

  bool reverse_;
  std::vector<KeyRange> ranges_;  // In the direction of the scan.
  size_t at_ = 0;
};

class EntryMerge {
 public:
  // `deletes` were taken together with the lease. `sets` outlives the merge, and so does `merges`,
  // which is told where events fell on cells of others (null: nobody is).
  EntryMerge(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
             std::unique_ptr<Lease> lease, const DeleteList& deletes,
             MergeCounts* merges = nullptr);

  // To the next row that has a cell to return, in the direction of the spec; false at the end.
  Result<bool> NextRow();
  // The next row is the first at or after `key` (reverse: at or before), if that is further.
  void SkipTo(std::string_view key);
  const Row& row() const { return assembler_.row(); }

  // For runs; forwards only. The block source that alone has the rows before the next row of all
  // others, with its place in `*end`, if its entry at hand can be given as it is: null if none.
  // Takes the lease's lock for as long as `access` lives. Whoever moves the source says so.
  Result<BlockSource*> RunSource(const LeaseAccess& access, std::string* end);
  void RunSourceMoved() { merge_.TopMoved(); }
  Lease* lease() { return lease_.get(); }
  TimeRange times() const { return {from_, to_}; }

 private:
  Status Prepare(const LeaseAccess& access);
  void OpenSources(const View& view);
  Status Position();
  Result<bool> NextInRange(const LeaseAccess& access);
  Result<bool> NextForward(const LeaseAccess& access);
  Result<bool> NextBackward(const LeaseAccess& access);
  Status ReadRow(const LeaseAccess& access);
  Status ReadEntry(EntrySource* source, bool* done);
  Status LeaveRow(EntrySource* source);
  EntrySource* Top();
  void BeginRow(std::string_view row_key);
  bool FinishRow();
  Status CheckStop(const LeaseAccess& access);

  const TableId table_;
  MergeCounts* const merges_;
  const bool reverse_;
  const bool keys_only_;
  const bool allows_runs_;  // As far as the spec goes.
  const std::unique_ptr<Lease> lease_;
  ColumnPlan plan_;
  RowAssembler assembler_;
  const TimeUs from_;  // Entries below it have nothing to give.
  const TimeUs to_;    // Entries from here on need not be read.
  DeleteList deletes_;

  ScanRanges ranges_;        // Where rows are still wanted.
  uint64_t rows_left_;       // That the limit leaves.
  bool nothing_ = false;     // No cell can be wanted.
  bool prepared_ = false;    // The sources are open.
  bool placed_ = false;      // Each has been at its first entry.
  bool positioned_ = false;  // None is before the range at hand.
  std::vector<std::unique_ptr<HeadSource>> heads_;
  std::vector<std::unique_ptr<BlockSource>> files_;
  std::vector<EntrySource*> sources_;  // All of them.
  SourceMerge merge_;                  // Backwards: of the row at hand.
  EntrySource* last_top_ = nullptr;
  std::string row_key_;  // Of the row read last.
  bool any_row_ = false;
  uint32_t steps_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ENTRY_MERGE_H_

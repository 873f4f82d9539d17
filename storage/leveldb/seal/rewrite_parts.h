// The two halves of writing entries again, for sealing and merging: KeptEntries tells what is to be
// kept of what several places have, WindowWriter puts that into block files. Not thread-safe.
// What reads a head is used under a LeaseAccess; block files need none.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_PARTS_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_PARTS_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/cell_merge.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/catalogue/merge_counts.h"
#include "storage/leveldb/catalogue/write_teller.h"
#include "storage/leveldb/commit/group_committer.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/view.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/read/row_assembler.h"

namespace tallyd {

// The files among a table's that may hold what an entry of `from` covers, `from` left out. The
// others may be thousands, and those that stay are looked at for each entry that has expired. With
// `folded`, where inputs of one cell count together: what may be of one cell with an entry of
// `from`, be it later or earlier.
View::Files FilesCoveredBy(const View::Files& from, const View::Files& all, bool folded = false);
// The same for the entries of a head of these times; null or empty: nobody knows. Of which rows it
// has something is not known without reading it, and all files hold earlier commits.
View::Files FilesCoveredBy(const std::optional<TimeRange>& times, const View::Files& all);

// KeptEntries: entries of one table from several places -> what is to be kept of them when they are
// written again: without what later writes cover, deletes hide and families' rules have given up,
// as far as the entries at hand tell.
//
// Entries keep their sequences, so what is kept may stand beside files that were not looked at: of
// two writes to a cell the later wins wherever it is. So a cell that has expired is kept, too, as
// long as such a file may hold an older write to it, which it covers: rules and clocks may change,
// and newer versions may be deleted. Those of a head become one for each row and time, with the
// sequence of the head.
//
// Of aggregate families the inputs of one cell are folded into its latest one: deletes that came
// between them have been applied by then, and those that are yet to come hide all of them. One that
// has expired is kept as long as a file that is not looked at may have another input of its cell.
class KeptEntries {
 public:
  // `plan` is of every column, and outlives this. `others`: FilesCoveredBy, of the entries that
  // come. `head_sequence`: all of them are of one head.
  KeptEntries(ColumnPlan* plan, DeleteList deletes, View::Files others,
              std::optional<uint64_t> head_sequence);

  // Before the first Next. The sources stand at their first entries and outlive this.
  void Assign(const std::vector<EntrySource*>& sources) { merge_.Assign(sources); }

  // To the next entry that has a cell to keep; false at the end.
  Result<bool> Next();
  const WholeEntry& entry() const { return entry_; }
  const DroppedCells& dropped() const { return dropped_; }
  // Of events that fell on one cell.
  const MergesFound& merges() const { return merges_; }

  // The source that alone has what comes next: its entries up to the row *bound (all that are left
  // where it is empty) that are newer than *newer_than, for those who copy what needs no look at
  // single cells; null if there is none. Whoever moves it says so.
  EntrySource* Alone(std::string* bound, TimeUs* newer_than);
  void SourceMoved() { merge_.TopMoved(); }

 private:
  Status Read(WholeEntry* entry);
  Status ReadGroup();
  bool FoldCells(WholeEntry* entry);
  void PutFolded();
  bool IsFollowedByRewrite() const;
  bool NeedsLook(const WholeEntry& entry) const;
  void DropCells(WholeEntry* entry);
  void CountDropped(CellMerge::Fate fate, bool is_aged);
  void Compare(const ColumnPlan::Pick& pick, CellMerge::Fate fate, const Value& value);
  void CountMerged();
  bool Hides(const ColumnRef& column) const;
  bool MayBeElsewhere(const WholeEntry& entry) const;
  WholeEntry Join(const std::vector<WholeEntry>& entries) const;

  ColumnPlan* const plan_;
  const DeleteList deletes_;
  View::Files others_;  // Those that reach furthest in time first.
  const std::optional<uint64_t> head_sequence_;
  const TimeUs ageless_from_;
  const bool has_aggregates_;
  SourceMerge merge_;
  CellMerge cells_{CellMerge::Versions::kAll};
  WholeEntry entry_;
  // Of one row and time, those with a cell to keep that are to be given yet, the latest first.
  std::vector<WholeEntry> group_;
  size_t next_in_group_ = 0;
  // Of the group, by column: the cell that other inputs are folded into, and what they make of it.
  struct Target {
    size_t entry = 0;  // In group_.
    size_t cell = 0;
    std::optional<AggregateFold> fold;
  };
  std::map<uint32_t, Target> targets_;
  Arena folded_;  // Bytes of states.
  bool any_ = false;
  std::string row_;  // Of the entry read last, like its time.
  TimeUs time_ = 0;
  // Of the entry read last, the cells of aggregate families: place and column.
  std::vector<std::pair<size_t, uint32_t>> first_inputs_;
  std::vector<std::pair<size_t, uint32_t>> other_inputs_;
  bool rewrites_ = false;  // The entry read last has the row and time of the one before.
  DroppedCells dropped_;
  MergesFound merges_;
  // Of the row and time at hand, where it was written to more than once: the prints of the latest
  // cells by column, and what the columns that tell events apart tell.
  std::vector<uint64_t> latest_prints_;
  WriteTeller teller_;
  std::vector<std::pair<uint32_t, uint64_t>> other_prints_;  // Columns, and what else they had.
  std::vector<size_t> differs_;  // By column: its place among those of merges_, and one more.
  uint64_t generation_ = 0;      // Of the plan that numbers columns.
  DeleteList hiding_;            // Of deletes_, those that may hide cells of the entry at hand.
};

// WindowWriter: entries of one table, in order -> block files apart by windows of event time.
//
// Each open window costs a file and the buffers of a block, so few are open at once. What lies in
// more windows than that goes to files of wider windows, which a later merge splits again: a stray
// time has a window of its own and widens nobody else's.
// So many windows of one width are open at once; a window that is wider holds so many of the next.
inline constexpr int64_t kOpenWindows = 16;

class WindowWriter {
 public:
  struct Options {
    BlockFileShelf* shelf = nullptr;
    TablePtr table;
    uint64_t deletes = 0;  // Deletes up to this sequence have been applied to what comes.
    int64_t width = 0;     // Of the narrowest windows, in microseconds.
    std::atomic<uint64_t>* next_file = nullptr;  // Numbers the files.
    BlockBounds bounds = {};
    std::vector<FileSource> sources = {};  // What has all that comes.
  };

  explicit WindowWriter(Options options);

  // An entry of more than a block takes beside others comes in parts, which have its time and
  // sequence, and each some of its columns.
  Status Add(const EntryId& id, const StoredCells& cells);
  Status Add(const WholeEntry& entry) {
    return Add({entry.row_key, entry.time, entry.sequence}, entry);
  }
  // As BlockBuilder::AddStored; if they are malformed it is of no use any more.
  Result<StoredEntry> AddStored(const EntryId& id, const ColumnSet& set, std::string_view values,
                                bool is_whole) {
    const size_t columns = set.columns.size();
    if (IsWide(columns, values.size())) [[unlikely]]
      return AddWide(id, set, values, is_whole);
    const bool has_room = IsOfLast(id.time) && last_->HasRoom();
    if (!has_room) [[unlikely]] {
      const Status made = MakeRoomFor(id, columns);
      if (!made) return made.error();
    }
    return last_->builder().AddStored(id, set, values, is_whole);
  }
  // Whether an entry may have to come in parts.
  bool IsWide(size_t columns, size_t bytes) const {
    return columns > options_.bounds.entry_columns() || bytes > options_.bounds.entry_bytes();
  }
  // Entries of another block that follow each other, as BlockBuilder::AddRun. Returns how many had
  // room, at least one: those of the first one's window.
  Result<uint32_t> AddRun(const KeyRun& run, const RunEntries& entries,
                          std::span<const BlockColumn> columns);
  Result<uint32_t> AddRun(const KeyRun& run, const RunEntries& entries,
                          std::span<const EntryColumns> columns);
  // A block of another file as it is. False: its times are not of one window.
  Result<bool> AddBlock(const BlockPlace& place, std::string_view bytes, const BlockFileInfo& from);

  // The files, written but not synced.
  Result<std::vector<std::unique_ptr<BlockFileWriter>>> Complete();

 private:
  struct Window {
    int64_t width = 0;
    TimeUs begin = 0;
    bool Contains(TimeUs time) const { return begin <= time && time - begin < width; }
    friend auto operator<=>(const Window&, const Window&) = default;
  };

  bool IsOfLast(TimeUs time) const { return last_ != nullptr && last_window_.Contains(time); }
  BlockFileWriter& At(TimeUs time);
  // last_ is then where the entry goes to.
  Status MakeRoomFor(const EntryId& id, size_t columns);
  Result<StoredEntry> AddWide(const EntryId& id, const ColumnSet& set, std::string_view values,
                              bool is_whole);
  Status AddParts(const EntryId& id, std::span<const ColumnRef> columns,
                  std::span<const Value> values);
  // How many of the entries of a run fit into the block that is made for the first of them.
  Result<size_t> MakeRoom(std::span<const TimeUs> times, size_t columns);

  const Options options_;
  std::map<Window, std::unique_ptr<BlockFileWriter>> writers_;
  std::map<int64_t, int64_t> open_;  // How many windows of each width.
  Window last_window_;               // Of the last entry; of no width before the first.
  BlockFileWriter* last_ = nullptr;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_PARTS_H_

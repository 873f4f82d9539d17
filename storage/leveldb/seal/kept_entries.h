// KeptEntries: entries of one table from several places -> what is to be kept of them when they are
// written again: without what later writes cover, deletes hide and families' rules have given up,
// as far as the entries at hand tell. For sealing and merging. Not thread-safe; used under an
// Access.
//
// Entries keep their sequences, so what is kept may stand beside files that were not looked at: of
// two writes to a cell the later wins wherever it is. So a cell that has expired is kept, too, as
// long as such a file may hold an older write to it, which it covers: rules and clocks may change,
// and newer versions may be deleted. Those of a head become one for each row and time, with the
// sequence of the head.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_KEPT_ENTRIES_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_KEPT_ENTRIES_H_

#include <optional>
#include <string>
#include <vector>

#include "storage/cell_merge.h"
#include "storage/leveldb/catalogue/catalogue.h"
#include "storage/leveldb/files/view.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/read/row_assembler.h"

namespace tallyd {

class KeptEntries {
 public:
  // `plan` is of every column, and outlives this. `others`: the table's files that are not looked
  // at. `head_sequence`: all entries are of one head.
  KeptEntries(ColumnPlan* plan, DeleteList deletes, View::Files others,
              std::optional<uint64_t> head_sequence);

  // Before the first Next. The sources stand at their first entries and outlive this.
  void Assign(const std::vector<EntrySource*>& sources) { merge_.Assign(sources); }

  // To the next entry that has a cell to keep; false at the end.
  Result<bool> Next();
  const WholeEntry& entry() const { return entry_; }

  // The source that alone has the rows up to *bound (all that are left where it is empty), for
  // those who copy what needs no look at single cells; null if there is none. Whoever moves it
  // says so.
  EntrySource* Alone(std::string* bound);
  void SourceMoved() { merge_.TopMoved(); }

 private:
  Status Read(WholeEntry* entry);
  Status Fold();
  bool IsFollowedByRewrite() const;
  bool NeedsLook(const WholeEntry& entry) const;
  void DropCells(WholeEntry* entry);
  bool Hides(const ColumnRef& column) const;
  bool MayCoverElsewhere(const WholeEntry& entry) const;
  WholeEntry Join(const WholeEntry& later, const WholeEntry& earlier) const;

  ColumnPlan* const plan_;
  const DeleteList deletes_;
  View::Files others_;  // Those that reach furthest in time first.
  const std::optional<uint64_t> head_sequence_;
  const TimeUs ageless_from_;
  SourceMerge merge_;
  CellMerge cells_{CellMerge::Versions::kAll};
  WholeEntry entry_;
  WholeEntry other_;
  bool any_ = false;
  std::string row_;  // Of the entry read last, like its time.
  TimeUs time_ = 0;
  bool rewrites_ = false;  // The entry read last has the row and time of the one before.
  DeleteList hiding_;      // Of deletes_, those that may hide cells of the entry at hand.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_KEPT_ENTRIES_H_

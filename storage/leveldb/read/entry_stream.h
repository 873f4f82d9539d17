// EntryStream: entries of one table from several places -> what is to be kept of them, one entry
// for each row and time: of writes to one cell the later, without what deletes hide, without cells
// past their age. For sealing and merging. Not thread-safe; used under an Access.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ENTRY_STREAM_H_
#define TALLYD_STORAGE_LEVELDB_READ_ENTRY_STREAM_H_

#include <vector>

#include "storage/leveldb/catalogue/column_registry.h"
#include "storage/leveldb/catalogue/delete_ranges.h"
#include "storage/leveldb/read/entry_source.h"

namespace tallyd {

class EntryStream {
 public:
  EntryStream(TablePtr table, DeleteList deletes, TimeUs now);

  // Before the first Next; sources stand at their first entries and outlive the stream.
  void Add(EntrySource* source) { sources_.push_back(source); }

  // To the next entry that has a cell to keep; false at the end.
  Result<bool> Next();
  const WholeEntry& entry() const { return entry_; }

  // Cells of a time before it are past their age.
  TimeUs oldest() const { return oldest_of_any_; }

  // The source that alone has the rows up to `bound` (its own last, if there is no other); null if
  // several have the next row or all are at their ends. For those who copy blocks as they are.
  EntrySource* Alone(std::string* bound, bool* bounded);

 private:
  Status Merge(EntrySource* newest);
  WholeEntry MergeCells(const WholeEntry& later, const WholeEntry& earlier) const;
  void DropCells();
  bool Hides(const ColumnRef& column) const;
  EntrySource* FirstOf() const;

  const TablePtr table_;
  const DeleteList deletes_;
  std::vector<TimeUs> oldest_;  // By FamilyId; cells before it are past their age.
  TimeUs oldest_of_any_ = 0;
  std::vector<EntrySource*> sources_;
  WholeEntry entry_;
  WholeEntry other_;
  DeleteList hiding_;  // Of deletes_, those that may hide cells of the entry at hand.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ENTRY_STREAM_H_

// DeleteRange: a range of a table that is forgotten but not yet removed from the disk
// (storage/FORMAT.md, Deletes). It hides what was committed before it. Immutable.
//
// The list that a reader applies and the entries it reads must be of one moment: with an older list
// it would see what a batch deleted beside what the same batch wrote, with a newer one what the
// sealer has removed in between would come back. So the lists are part of a View (files/view.h).
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_DELETE_RANGE_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_DELETE_RANGE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/time.h"
#include "storage/batch.h"
#include "storage/table_info.h"

namespace tallyd {

struct DeleteRange {
  TableId table = 0;
  uint64_t sequence = 0;
  TimeUs at = 0;  // When it was committed, by the wall clock.
  DeleteSpec what;

  DeleteRange(TableId table_id, uint64_t number, DeleteSpec spec, TimeUs committed = 0)
      : table(table_id), sequence(number), at(committed), what(std::move(spec)) {}
  bool CoversRow(std::string_view row_key) const {
    return row_key >= what.rows.start && (what.rows.end.empty() || row_key < what.rows.end);
  }
  // Whether it may hide anything of rows from `first` to `last` with entries up to this sequence.
  bool Touches(std::string_view first, std::string_view last, uint64_t up_to) const {
    return up_to < sequence && last >= what.rows.start &&
           (what.rows.end.empty() || first < what.rows.end);
  }
  // Whether it hides whatever an entry of a covered row holds at this time.
  bool HidesEntry(TimeUs time, uint64_t entry_sequence) const {
    return !what.family && HidesTime(time, entry_sequence);
  }
  bool HidesTime(TimeUs time, uint64_t entry_sequence) const {
    return entry_sequence < sequence && what.cells.Contains(time);
  }
  bool HidesColumn(const ColumnRef& column) const {
    return (!what.family || *what.family == column.family) &&
           (!what.qualifier || *what.qualifier == column.qualifier);
  }
};

using DeleteList = std::vector<std::shared_ptr<const DeleteRange>>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_DELETE_RANGE_H_

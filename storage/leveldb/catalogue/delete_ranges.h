// DeleteRanges: the ranges of history tables that are forgotten but not yet removed from the disk
// (storage/FORMAT.md, Deletes), and the moment at which a reader takes its list of them.
//
// A list and the snapshot it is applied to must belong together: with an older list a reader would
// see what a batch deleted beside what the same batch wrote, with a newer one what the sealer has
// removed in between would come back. So a commit that changes the list holds BeginChange's lock
// from its write until Publish, and a reader takes list and snapshot under BeginRead's.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_DELETE_RANGES_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_DELETE_RANGES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "storage/batch.h"

namespace tallyd {

struct DeleteRange {
  TableId table = 0;
  uint64_t sequence = 0;
  DeleteSpec what;

  DeleteRange(TableId table_id, uint64_t number, DeleteSpec spec);
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

class DeleteRanges {
 public:
  std::shared_lock<std::shared_mutex> BeginRead() const { return std::shared_lock(change_); }
  std::unique_lock<std::shared_mutex> BeginChange() { return std::unique_lock(change_); }

  DeleteList Of(TableId table) const;  // Newest first, as they are likeliest to hide an entry.
  DeleteList All() const;              // Oldest first.
  size_t size() const;
  uint64_t last() const;  // The latest one's sequence; 0 if there is none.

  void Publish(const DeleteList& added);
  void Remove(const DeleteRange& range);
  void Replace(DeleteList ranges);

 private:
  mutable std::shared_mutex change_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const DeleteRange>> ranges_;  // By sequence.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_DELETE_RANGES_H_

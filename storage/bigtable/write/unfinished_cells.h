// UnfinishedCells: the cells of batches that this daemon left in the journal. Each is finished
// later, so what gives one of their cells another value meanwhile must wait: what is finished would
// go over it. The same values again do no harm. Other daemons' batches nobody knows here.
// Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_UNFINISHED_CELLS_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_UNFINISHED_CELLS_H_

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/bigtable/batch/bigtable_batch.h"

namespace tallyd {

class UnfinishedCells {
 public:
  // Of so many cells it takes some tens of MB.
  static constexpr size_t kMaxCells = 1u << 20;

  // REQUIRES: the batch deletes no ranges.
  void Add(const std::string& journal_key, const BigtableBatch& batch);
  void Remove(const std::string& journal_key);
  // Those that are left. Costs nothing while there are none.
  std::vector<std::string> Keys() const;
  // Whether the batch gives one of them another value.
  bool Contradicts(const BigtableBatch& batch) const;
  // Nothing may be added to the journal before some are finished.
  bool is_full() const { return cells_ >= kMaxCells; }

 private:
  // Hashes of a cell's place and of its value.
  using Cells = std::vector<std::pair<uint64_t, uint64_t>>;
  static Cells CellsOf(const BigtableBatch& batch);

  std::atomic<size_t> cells_ = 0;  // Set under mutex_.
  mutable std::mutex mutex_;
  std::map<std::string, Cells> batches_;  // By key of the journal. Guarded by mutex_.
  // How often a value is to be put into a place. Guarded by mutex_.
  boost::unordered_flat_map<uint64_t, std::map<uint64_t, size_t>> values_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_UNFINISHED_CELLS_H_

// How many rows ranges of a history table hold: counted up to a limit, extrapolated by sizes
// beyond.
#ifndef TALLYD_STORAGE_LEVELDB_ROW_ESTIMATE_H_
#define TALLYD_STORAGE_LEVELDB_ROW_ESTIMATE_H_

#include <cstdint>
#include <span>

#include "config/key_ranges.h"
#include "config/result.h"
#include "storage/leveldb/database.h"
#include "storage/table_info.h"

namespace tallyd {

struct RowEstimate {
  uint64_t rows = 0;
  bool exact = false;
};

// Rows that are deleted or expired but still stored count, too. Blocks on the disk.
Result<RowEstimate> EstimateHistoryRows(Lease* lease, TableId table,
                                        std::span<const KeyRange> ranges, uint64_t count_at_most);
uint64_t ApproximateDiskBytes(Lease* lease, TableId table);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ROW_ESTIMATE_H_

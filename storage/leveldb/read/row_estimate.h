// How many rows ranges of a history table hold, and where to cut them, from the indexes of block
// files and a count over the heads.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ROW_ESTIMATE_H_
#define TALLYD_STORAGE_LEVELDB_READ_ROW_ESTIMATE_H_

#include <span>
#include <vector>

#include "config/key_ranges.h"
#include "storage/leveldb/files/database.h"
#include "storage/table_info.h"

namespace tallyd {

// Counts rows of heads up to about `count_at_most`. Rows in several places count in each.
Result<uint64_t> EstimateHistoryRows(Lease* lease, TableId table, std::span<const KeyRange> ranges,
                                     uint64_t count_at_most);

// Of block files only.
uint64_t DiskBytes(const View& view, TableId table);

// Cuts a range into at most `parts` with about as many entries each, as far as blocks tell that
// have any of that time.
std::vector<KeyRange> SplitRange(const View& view, TableId table, const KeyRange& range,
                                 const TimeRange& time, size_t parts);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ROW_ESTIMATE_H_

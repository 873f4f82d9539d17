// What it takes to scan ranges of a history table, and where to cut them, from the indexes of block
// files and a count over the heads; no block is read.
#ifndef TALLYD_STORAGE_LEVELDB_READ_SCAN_ESTIMATE_H_
#define TALLYD_STORAGE_LEVELDB_READ_SCAN_ESTIMATE_H_

#include <span>
#include <vector>

#include "config/schema/key_ranges.h"
#include "storage/leveldb/files/database.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// As Store::Estimate. Rows in several places count in each.
Result<ScanEstimate> EstimateHistory(Lease* lease, TableId table, const EstimateSpec& spec);

// Of block files only.
uint64_t DiskBytes(const View& view, TableId table);

// Cuts a range into at most `parts` with about as many entries each, as far as blocks tell that
// have any of that time.
std::vector<KeyRange> SplitRange(const View& view, TableId table, const KeyRange& range,
                                 const TimeRange& time, size_t parts);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_SCAN_ESTIMATE_H_

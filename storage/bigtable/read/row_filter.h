// What of a scan Bigtable itself leaves out: columns, times and versions that nobody wants. It
// leaves out no cell that the scan gives, and none by which another is hidden: what a family's
// rules hide is judged here, when rows come (read/bigtable_scan.h). Pure functions.
#ifndef TALLYD_STORAGE_BIGTABLE_READ_ROW_FILTER_H_
#define TALLYD_STORAGE_BIGTABLE_READ_ROW_FILTER_H_

#include <optional>
#include <string>
#include <string_view>

#include "storage/bigtable/proto/bigtable_data.pb.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Nothing: all cells come. `grain_us`: cell times are multiples of it.
std::optional<google::bigtable::v2::RowFilter> FilterOf(const TableInfo& table,
                                                        const ScanSpec& spec, int64_t grain_us);

// Each row's key with one cell, without its value.
google::bigtable::v2::RowFilter KeysFilter();

// The newest cell of each column, without its value.
google::bigtable::v2::RowFilter NewestFilter();

// Matches exactly what the glob matches, as RE2 on raw bytes.
std::string RegexOfGlob(std::string_view glob);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_READ_ROW_FILTER_H_

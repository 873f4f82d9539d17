// What is read of a cell of an aggregate family.
#ifndef TALLYD_SERVICE_ROWS_AGGREGATE_TEXT_H_
#define TALLYD_SERVICE_ROWS_AGGREGATE_TEXT_H_

#include <optional>
#include <string>

#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// The digits of an integer; nothing of cells of other families, and where the cell is damaged.
std::optional<std::string> AggregateText(const TableInfo& table, const CellView& cell);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ROWS_AGGREGATE_TEXT_H_

// The cells of a row as they are shown: families in name order, columns in byte order, each
// column's cells newest first.
#ifndef TALLYD_API_ROW_CELLS_H_
#define TALLYD_API_ROW_CELLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cell_json.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

struct RowCell {
  const CellView* view = nullptr;  // Into the row.
  TimeUs time = 0;
};

// Without the cells of families that are no longer configured (of orphaned tables: all).
std::vector<RowCell> CellsInReadOrder(const TableInfo& table, const Row& row);

// AggregateText as an answer shows it: with `raw` a sketch is its bytes instead.
std::optional<std::string> ShownAggregate(const TableInfo& table, const CellView& cell, bool raw);

// The value as JSON: a serialized cell decoded to an object, or its bytes where `raw` or damaged;
// of an aggregate family an integer.
void AppendCellValueJson(const TableInfo& table, const RowCell& cell, const RowJsonOptions& options,
                         std::string* out);
// Whether the schema says that this column holds serialized cells.
bool IsSerialized(const TableInfo& table, const ColumnRef& column, const Table* schema_table);

}  // namespace tallyd

#endif  // TALLYD_API_ROW_CELLS_H_

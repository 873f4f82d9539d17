#include "api/cell_json.h"

#include "api/row_cells.h"
#include "ingest/text/json_text.h"

namespace tallyd {

void AppendRowJson(const TableInfo& table, const Row& row, const RowJsonOptions& options,
                   std::string* out) {
  *out += "{\"key\":";
  AppendJsonString(row.key, out);
  *out += ",\"cells\":{";
  const ColumnRef* before = nullptr;
  for (const RowCell& cell : CellsInReadOrder(table, row)) {
    const ColumnRef& column = cell.view->column;
    const bool new_family = before == nullptr || before->family != column.family;
    if (before != nullptr && new_family) *out += "]},";
    if (new_family) {
      AppendJsonName(table.families[column.family].name, out);
      *out += ":{";
    }
    if (new_family || before->qualifier != column.qualifier) {
      if (!new_family) *out += "],";
      AppendJsonName(column.qualifier, out);
      *out += ":[";
    } else {
      out->push_back(',');
    }
    *out += "{\"value\":";
    AppendCellValueJson(table, cell, options, out);
    *out += ",\"ts\":";
    AppendJsonTime(cell.time, out);
    out->push_back('}');
    before = &column;
  }
  *out += before == nullptr ? "}}" : "]}}}";
}

}  // namespace tallyd

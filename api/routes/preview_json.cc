#include "api/routes/preview_json.h"

#include "api/cell_json.h"

namespace tallyd {

std::string PreviewJson(const PreviewBatch& preview, const Schema& schema) {
  std::string out = "{\"tables\":{";
  bool first_table = true;
  for (const PreviewTable& preview_table : preview.Tables()) {
    if (!first_table) out.push_back(',');
    first_table = false;
    AppendJsonString(preview_table.table.name, &out);
    out += ":[";
    RowJsonOptions options;
    options.schema_table = schema.FindTable(preview_table.table.name);
    bool first_row = true;
    for (const Row& row : preview_table.rows) {
      if (!first_row) out.push_back(',');
      first_row = false;
      AppendRowJson(preview_table.table, row, options, &out);
    }
    out.push_back(']');
  }
  out.push_back('}');
  return out;
}

}  // namespace tallyd

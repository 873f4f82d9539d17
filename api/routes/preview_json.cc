#include "api/routes/preview_json.h"

#include <utility>

#include "api/cell_json.h"
#include "ingest/text/json_text.h"

namespace tallyd {

void AppendPreview(const PreviewBatch& preview, const Access& access, std::string* out) {
  out->append("\"tables\":{");
  const char* before_table = "";
  for (const PreviewTable& preview_table : preview.Tables()) {
    if (!access.Sees(preview_table.table.name)) continue;
    out->append(std::exchange(before_table, ","));
    AppendJsonString(preview_table.table.name, out);
    out->append(":[");
    const RowJsonOptions options{access.schema().FindTable(preview_table.table.name), false};
    const char* before_row = "";
    for (const Row& row : preview_table.rows) {
      out->append(std::exchange(before_row, ","));
      AppendRowJson(preview_table.table, row, options, out);
    }
    out->push_back(']');
  }
  out->push_back('}');
}

}  // namespace tallyd

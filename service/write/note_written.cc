#include "service/write/note_written.h"

#include <fmt/format.h>

namespace tallyd {
namespace {

// Of a key in a warning.
constexpr size_t kShownKeyBytes = 200;

}  // namespace

std::vector<std::string> NoteWritten(const WrittenRows& rows, const WriteParts& parts) {
  parts.metrics.rows.Increment(static_cast<double>(rows.rows));
  parts.metrics.cells.Increment(static_cast<double>(rows.cells));
  parts.heat.Add(HeatMetric::kWrites, rows.stems, parts.clock.Now());
  const std::vector<RowSizes::LargeRow> large = parts.row_sizes.Add(rows.row_bytes);
  parts.metrics.large_values.Increment(static_cast<double>(rows.large_values));
  parts.metrics.large_rows.Increment(static_cast<double>(large.size()));

  std::vector<std::string> warnings;
  if (rows.large_values > 0) {
    warnings.push_back(
        fmt::format("{} of its values have more than {} bytes, which a value should not",
                    rows.large_values, kRecommendedValueBytes));
  }
  for (const RowSizes::LargeRow& row : large) {
    warnings.push_back(fmt::format(
        "row {} of table {} has about {} bytes, and should not have more than {}",
        row.key.substr(0, kShownKeyBytes), row.table->name, row.bytes, kRecommendedRowBytes));
  }
  return warnings;
}

}  // namespace tallyd

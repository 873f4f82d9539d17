// RowQuery: what a request asks of a table's rows, read from its parameters.
#ifndef TALLYD_API_ROWS_ROW_QUERY_H_
#define TALLYD_API_ROWS_ROW_QUERY_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/answer.h"
#include "api/context.h"
#include "api/request.h"
#include "storage/scan.h"

namespace tallyd {

struct RowQuery {
  std::shared_ptr<const SchemaSnapshot> snapshot;
  TablePtr stored;
  const Table* table = nullptr;  // In the snapshot; null for an orphaned table.
  ScanSpec spec;
  std::optional<std::string> value;  // Only cells with this text.
  std::optional<uint64_t> limit;
  bool raw = false;
  AnswerFormat format = AnswerFormat::kJson;
  uint64_t hash = 0;
};

// Many rows: {table}. One row: {table} {key}, without the parameters that choose rows.
enum class RowCount : uint8_t { kMany, kOne };
Result<RowQuery> ParseRowQuery(const Request& request, ApiContext& context, RowCount count);

// The table, orphaned ones included, or 404 with near names.
Result<TablePtr> FindStoredTable(const Store& store, std::string_view name);
// The range of one key.
KeyRange RangeOfKey(std::string_view key);
// `from` and `to` of cell times.
Result<TimeRange> ParseCellTimes(const Params& params, TimeUs now);

}  // namespace tallyd

#endif  // TALLYD_API_ROWS_ROW_QUERY_H_

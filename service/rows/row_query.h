// RowQuery: what is asked of a table's rows, whoever asks.
#ifndef TALLYD_SERVICE_ROWS_ROW_QUERY_H_
#define TALLYD_SERVICE_ROWS_ROW_QUERY_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "service/access/schema_view.h"
#include "storage/scan.h"
#include "storage/store.h"

namespace tallyd {

struct RowQuery {
  Access access;
  TablePtr stored;
  const Table* table = nullptr;      // In its snapshot; null for an orphaned table.
  ScanSpec spec;                     // One range.
  std::optional<std::string> value;  // Only cells with this text.
  std::optional<uint64_t> limit;
  bool is_page = false;  // Whoever asks takes no more than `limit`, or kDefaultLimit.

  // Leaves out the rows up to that of the key, in the order in which they come.
  void BeginBehind(const std::string& key);
};

// The table, orphaned ones included, where it is there for whoever asks; kNotFound names near ones
// that are.
Result<TablePtr> FindStoredTable(const Access& access, const Store& store, std::string_view name);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ROWS_ROW_QUERY_H_

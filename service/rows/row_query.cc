#include "service/rows/row_query.h"

#include <utility>
#include <vector>

#include "config/values/glob.h"

namespace tallyd {

void RowQuery::BeginBehind(const std::string& key) {
  if (spec.reverse) {
    spec.ranges.front().end = key;
  } else {
    spec.ranges.front().start = key + '\0';
  }
}

Result<TablePtr> FindStoredTable(const Access& access, const Store& store, std::string_view name) {
  if (access.Sees(name)) {
    if (TablePtr table = store.FindTable(name)) return table;
  }
  std::vector<std::string> names;
  for (const TablePtr& table : store.Tables()) {
    if (access.Sees(table->name)) names.push_back(table->name);
  }
  std::string message = "there is no table '" + std::string(name) + "'";
  const std::vector<std::string> nearest = NearestNames(name, names);
  for (size_t i = 0; i < nearest.size(); ++i) {
    message += (i == 0 ? "; the nearest are '" : ", '") + nearest[i] + "'";
  }
  return Error(ErrorCode::kNotFound, std::move(message));
}

}  // namespace tallyd

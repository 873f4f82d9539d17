// A few rows of a table, and the values of the field that its keys begin with. Bounded in rows,
// values and bytes, whatever the table holds.
#ifndef TALLYD_SERVICE_LINT_TABLE_SAMPLE_H_
#define TALLYD_SERVICE_LINT_TABLE_SAMPLE_H_

#include <map>
#include <set>
#include <string>

#include "config/schema/schema.h"
#include "storage/store.h"

namespace tallyd {

struct TableSample {
  uint64_t rows = 0;
  TimeRange times = {kMaxTimeUs, 0};  // Of the cells of these rows; both ends are some cell's.
  uint64_t value_bytes = 0;           // The largest value, and its column, "FAMILY:QUALIFIER".
  std::string column;
  std::map<std::string, std::set<std::string>> texts;  // Some values of the fields of the key.

  // The field that the keys begin with; empty where none is given back first.
  std::string leading;
  uint64_t values = 0;  // So many values of it were seen.
  bool knows_all_values = false;
  std::map<int64_t, TimeUs> numbers;  // Those that are integers, each with its first row's time.
};

Result<TableSample> SampleTable(const Table& table, const TablePtr& stored, Store& store,
                                TimeUs now);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LINT_TABLE_SAMPLE_H_

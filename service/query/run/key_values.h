// The distinct values of a key field, by skipping from one value to the next: each costs a seek,
// however many rows it has.
#ifndef TALLYD_SERVICE_QUERY_RUN_KEY_VALUES_H_
#define TALLYD_SERVICE_QUERY_RUN_KEY_VALUES_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/value.h"
#include "service/access/row_clamp.h"
#include "service/limits/query_memory.h"
#include "service/query/ask/stream_fields.h"
#include "storage/store.h"

namespace tallyd {

struct KeyValuesQuery {
  const Table* table = nullptr;
  const RowClamp* clamp = nullptr;  // Null: of every row.
  TimeUnit unit = TimeUnit::kMilliseconds;
  std::string field;   // One that the table's key gives back, or a label.
  std::string prefix;  // Only values whose text starts so.
  size_t limit = 0;
  uint64_t most_rows = std::numeric_limits<uint64_t>::max();  // Of which keys are read.
  std::optional<std::string> after;  // The text of the last value of the page before.
};

struct KeyValue {
  std::string text;  // Of bytes these.
  ValueType type = ValueType::kNull;
};

struct KeyValues {
  std::vector<KeyValue> values;
  std::optional<std::string> last;  // When there are more: the text of the page's last.
  uint64_t rows_read = 0;
  bool is_whole = true;  // No row was left out for `most_rows`.
  MemoryCharge held;  // Of the values, and of as much text made of them.
};

// In key order where the field comes first in the key, else in byte order of their text.
// `memory`: where what is held counts; null: nowhere.
Result<KeyValues> ReadKeyValues(const KeyValuesQuery& query, Store& store, TimeUs now,
                                ReadMemoryPtr memory = nullptr);

// The stream's table that gives the field's values at the least cost. kUnprocessable, which names
// the fields of which there are values: it stands in no row key.
Result<const Table*> TableOfValues(const Schema& schema, const Stream& stream,
                                   const StreamFields& known, const std::string& field);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_RUN_KEY_VALUES_H_

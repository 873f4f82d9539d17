// What becomes of the events of one shape in one table: which value goes to which column, decided
// once. Per event there remain the row key, texts that hold values, and the time.
//
// Immutable once compiled; views the Table and the TableInfo it was compiled from, and the Shape.
#ifndef TALLYD_INGEST_TABLE_MAPPING_H_
#define TALLYD_INGEST_TABLE_MAPPING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/column_claims.h"
#include "config/schema.h"
#include "ingest/shape.h"
#include "storage/store.h"
#include "storage/table_info.h"

namespace tallyd {

// One segment of a template, with the place of its value in the events of the shape.
struct TextPart {
  const Segment* segment = nullptr;  // Null: `text` as it is.
  std::string text;  // Literal text, or the field's name where the segment is {field}.
  int value = -1;    // Of a placeholder: index into the event's values; -1: `text`, or the time.
};

// A text to be made for each event. Adjacent constant parts are one.
struct TextPlan {
  std::vector<TextPart> parts;
  bool is_constant() const { return parts.empty() || (parts.size() == 1 && !parts[0].segment); }
  // REQUIRES: is_constant().
  std::string_view constant() const {
    return parts.empty() ? std::string_view() : std::string_view(parts[0].text);
  }
};

struct CellPlan {
  enum class Kind : uint8_t { kField, kText, kBlob };
  FamilyId family = 0;
  TextPlan name;
  Kind kind = Kind::kField;
  uint32_t field = 0;  // kField.
  TextPlan text;       // kText.
  ColumnWriter by;     // Which rule writes it, and for which field: for messages.
  // Where the name holds values: those that are other writers' columns.
  std::vector<std::pair<std::string_view, ColumnWriter>> taken;
  Serialization how = Serialization::kNone;
  std::vector<uint32_t> blob_fields;
};

// One row that each event of the shape writes.
struct RowPlan {
  std::vector<TextPart> key;
  std::vector<CellPlan> cells;  // With `set` in its order; empty if `gather` tells all.
  // All names are constant, and the store knows this list of columns:
  const ColumnSet* set = nullptr;
  bool names_vary = false;       // Some name holds values: two may turn out alike.
  std::vector<uint32_t> gather;  // With set, where all values are fields: their indices, in order.
};

struct TableMapping {
  const Table* table = nullptr;
  TablePtr info;
  std::string stays_out;  // Why events of this shape do not enter; empty if they do.
  // What every event of this shape is refused for: the field and why.
  std::optional<std::pair<std::string, std::string>> refused;
  int time_value = -1;  // The time's index in the event's values; -1: its arrival.
  std::vector<RowPlan> rows;
  // Families that forget by age alone, of those that the rows use.
  std::vector<std::pair<FamilyId, int64_t>> max_ages;
};

// A table to map to, and what of it does not depend on the shape.
struct MappedTable {
  MappedTable(const Table& the_table, TablePtr the_info)
      : table(the_table), info(std::move(the_info)), claims(the_table) {}
  const Table& table;
  TablePtr info;
  ColumnClaims claims;
};

// Why an event is refused whose cells of two writers have one column.
std::string OneColumn(const ColumnWriter& a, const ColumnWriter& b, const TableInfo& table,
                      const ColumnRef& column);

// `store` interns the columns; null: it shall not (shapes that do not recur). `table` and `shape`
// outlive the mapping.
TableMapping CompileTableMapping(const MappedTable& table, const Shape& shape, Store* store);

}  // namespace tallyd

#endif  // TALLYD_INGEST_TABLE_MAPPING_H_

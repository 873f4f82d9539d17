// What becomes of the events of one shape in one table: which value goes to which column, decided
// once. Per event there remain the row key, texts that hold values, and the time.
//
// Immutable once compiled and numbered (shared_keys.h); views the Table and the TableInfo it was
// compiled from, and the Shape.
#ifndef TALLYD_INGEST_MAP_TABLE_MAPPING_H_
#define TALLYD_INGEST_MAP_TABLE_MAPPING_H_

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/schema/column_claims.h"
#include "config/columns/name_doubts.h"
#include "config/schema/schema.h"
#include "ingest/decode/event_batch.h"
#include "ingest/labels/event_labels.h"
#include "storage/store.h"
#include "storage/table_info.h"

namespace tallyd {

// The value of the event's field at this place, as the segment spells it.
struct FieldPart {
  const Segment* segment;
  uint32_t field;
};
// The event's time in this table.
struct TimePart {
  const Segment* segment;
};
// The measured field's name, where the segment does not take it as it is.
struct NamePart {
  const Segment* segment;
  std::string name;
};
// In a key, the labels of the event that no other placeholder gives back.
struct LabelsPart {
  struct OfField {
    std::string head;  // LabelHead of its name.
    uint32_t field;
    friend bool operator==(const OfField&, const OfField&) = default;
  };
  const Segment* segment;
  std::vector<OfField> labels;  // In order of the names. An event that lacks one has no such label.
};
// A part of a text; a string stands for itself.
using TextPart = std::variant<std::string, FieldPart, TimePart, NamePart, LabelsPart>;

// Longer values of labels are written by the slower way, as those that hold an escaped byte are.
inline constexpr size_t kPlainLabelBytes = 64;

// A text to be made for each event. Adjacent constant parts are one.
struct TextMapping {
  std::vector<TextPart> parts;
  bool is_constant() const {
    return parts.empty() || (parts.size() == 1 && std::holds_alternative<std::string>(parts[0]));
  }
  // REQUIRES: is_constant().
  std::string_view constant() const {
    return parts.empty() ? std::string_view() : std::string_view(std::get<std::string>(parts[0]));
  }
};

struct CellMapping {
  enum class Kind : uint8_t { kField, kText, kBlob };
  FamilyId family = 0;
  TextMapping name;
  Kind kind = Kind::kField;
  uint32_t field = 0;  // kField.
  TextMapping text;    // kText.
  ColumnWriter by;     // Which rule writes it, and for which field: for messages.
  // Where the name holds values: those that are other writers' columns.
  std::vector<std::pair<std::string_view, ColumnWriter>> taken;
  bool is_doubtful = false;  // Each event is to look whether it reads back (read_back.h).
  Serialization how = Serialization::kNone;
  std::vector<uint32_t> blob_fields;
};

class TimedRows;

// Of parts further on nobody knows.
inline constexpr size_t kMaxSharedParts = 16;
// How many parts of a row's key, from the first one on, make the text that they make in the row
// before it.
struct SharedKey {
  uint16_t parts = 0;              // Whatever the event.
  uint16_t parts_at_one_time = 0;  // Where both rows are of one time.
};

// One row that each event of the shape writes.
struct RowMapping {
  boost::container::small_vector<TextPart, 2> key;
  uint32_t plain_key_room = 0;  // What RowRenderer::WriteKey needs for it; 0: it makes none such.
  uint32_t number = 0;          // Of the rows of a ShapeMapping, in its order; else 0.
  SharedKey shared;             // With the row of the number before.
  // All names are constant, and the store knows this list of columns:
  const ColumnSet* set = nullptr;
  bool names_vary = false;  // Some name holds values: two may turn out alike.
  bool is_misread = false;  // A column of it does not read back, whatever the event's values.
  // With set, where all values are fields: their indices, in order.
  boost::container::small_vector<uint32_t, 4> gather;
  std::vector<CellMapping> cells;  // With `set` in its order; empty if `gather` tells all.
  // Where the names hold the time alone: the same row with constant names, by period.
  std::shared_ptr<TimedRows> timed;
};

struct TableMapping {
  const Table* table = nullptr;
  TablePtr info;
  std::optional<uint32_t> time_value;  // The time's place in the event; none: its arrival.
  bool is_wide = false;                // A row takes many events: its key is coarser than they are.
  bool merges_inputs = false;          // PatternInfo::merges_inputs
  int64_t most_added = kAnyAdded;      // Capabilities::most_added
  // Families that forget by age alone, of those that the rows use.
  std::vector<std::pair<FamilyId, int64_t>> max_ages;
  boost::container::small_vector<RowMapping, 1> rows;
  std::string stays_out;           // Why events of this shape do not enter; empty if they do.
  std::optional<Refusal> refused;  // What every event of this shape is refused for.
};
using TableMappings = boost::container::small_vector<TableMapping, 2>;

// A table to map to, and what of it does not depend on the shape.
struct MappedTable {
  MappedTable(const Table& the_table, TablePtr the_info)
      : table(the_table), info(std::move(the_info)), claims(the_table) {
    for (const NameDoubt& doubt : NameDoubtsOf(table)) {
      doubtful_rules.insert({doubt.rule, doubt.other});
    }
  }
  const Table& table;
  TablePtr info;
  ColumnClaims claims;
  std::set<size_t> doubtful_rules;  // Hardly ever any.
  mutable std::atomic<size_t> timed_lists = 0;  // That TimedRows have learned.
};

// Why an event is refused whose cells of two writers have one column.
std::string OneColumn(const ColumnWriter& a, const ColumnWriter& b, const TableInfo& table,
                      const ColumnRef& column);

// Has the store learn the row's columns, which have constant names, and puts its cells in their
// order. Changes nothing where the store knows too many.
void InternColumns(const TableInfo& table, bool merges_inputs, Store* store, RowMapping* row);

// By field of the shape: whether its value is part of what the table stores.
std::vector<bool> KeptFields(const TableMapping& mapping, size_t fields);

// `labels`: the places of the events' labels. `store` interns the columns; null: it shall not
// (shapes that do not recur). `table` and `shape` outlive the mapping.
TableMapping CompileTableMapping(const MappedTable& table, const Shape& shape,
                                 const LabelPlaces& labels, Store* store);

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_TABLE_MAPPING_H_

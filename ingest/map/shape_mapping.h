// What becomes of the events of one shape in all tables of their stream: compiled once per shape.
//
// The mapping of a superset's shape serves every choice of its fields for which nothing but the
// presence of cells differs from what the choice's own shape would give: all its cells are plain
// values under constant names, and what is used otherwise (in keys, as the time, in `when`) is
// required. Serves tells for an event; any other event is to be mapped by a shape of its own.
//
// Immutable but for what is known of the store; views the tables and the shape.
#ifndef TALLYD_INGEST_MAP_SHAPE_MAPPING_H_
#define TALLYD_INGEST_MAP_SHAPE_MAPPING_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/schema/schema.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/shape.h"
#include "ingest/labels/event_labels.h"
#include "ingest/map/missed_fields.h"
#include "ingest/map/table_mapping.h"
#include "storage/store.h"

namespace tallyd {

// A field that a table keeps by its compact name.
struct CompactField {
  std::string compact;
  std::string field;
  uint32_t place = 0;
};

// What each event needs comes first and lies together: events that change their shape each time
// find nothing of it in a near cache.
struct ShapeMapping {
  const Shape* shape = nullptr;
  // Per field, the types that the store is known to know.
  std::unique_ptr<std::atomic<uint8_t>[]> known_types;
  std::unique_ptr<const Refusal> refused;  // What all events of the shape are refused for.
  bool of_one_event = false;               // The shape does not recur.
  bool serves_choices = false;             // Of a superset's shape: it serves any choice.
  // It serves only events in which what they have of these is text; hardly ever any: others are
  // mapped by what labels they have.
  LabelPlaces labels_where_text;
  // Per field, the bit of a text (storage/table_catalogue.h).
  std::vector<uint8_t> text_bits;
  // Whether the store knows all that is missed.
  mutable std::atomic<bool> missed_is_known = false;
  std::vector<CompactField> compact;
  std::vector<MissedByTable> missed;
  TableMappings tables;  // Those that the events enter.

  // With serves_choices: what such an event must have.
  std::vector<uint32_t> required;
  std::vector<std::vector<uint32_t>> cells;  // By table: one of these fields.

  // REQUIRES: serves_choices. `values`: by place, null where the event has none.
  bool Serves(std::span<const Value> values) const;
  // Whether each of labels_where_text that an event has is text. In the event's own order.
  bool ServesLabels(const Event& event) const {
    return labels_where_text.empty() || HasLabelsAsText(event);
  }
  bool HasLabelsAsText(const Event& event) const;
};

// `labels` of the events; where it says so, of those alone in which they are text. `interner`
// learns the columns; null: none does (shapes that do not recur). A superset's terms are told what
// its mapping asks for.
std::unique_ptr<ShapeMapping> CompileShape(const std::deque<MappedTable>& tables,
                                           const Stream& stream, const Shape& shape,
                                           const ShapeLabels& labels, Store* interner);

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_SHAPE_MAPPING_H_

// Which fields of an event are labels: those that its protocol calls so (Shape::labels), or, where
// the protocol has no such word, those of the stream's list that are text. A number or a bool in a
// listed field is an ordinary field. Pure and thread-safe; for compiling, not for each event.
#ifndef TALLYD_INGEST_LABELS_EVENT_LABELS_H_
#define TALLYD_INGEST_LABELS_EVENT_LABELS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/value.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/shape.h"

namespace tallyd {

// By ascending places in a shape.
using LabelPlaces = std::vector<uint32_t>;

// What can be told of all events of a shape.
struct ShapeLabels {
  LabelPlaces places;
  bool where_text = false;  // Each is a label only in events that have a text there.
};

ShapeLabels LabelsOf(const Stream& stream, const Shape& shape);

// Whether the event has the field as a label. Linear.
bool HasAsLabel(const Stream& stream, const Event& event, std::string_view field);

// Whether a value may be that of a label.
inline bool IsLabelText(const Value& value) { return value.type() == ValueType::kString; }

}  // namespace tallyd

#endif  // TALLYD_INGEST_LABELS_EVENT_LABELS_H_

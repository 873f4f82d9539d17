#include "ingest/labels/event_labels.h"

#include <algorithm>

namespace tallyd {

ShapeLabels LabelsOf(const Stream& stream, const Shape& shape) {
  if (shape.labels) return {*shape.labels, false};
  ShapeLabels listed;
  listed.where_text = true;
  if (stream.labels.empty()) return listed;
  for (uint32_t i = 0; i < shape.fields.size(); ++i) {
    if (ListsAsLabel(stream, shape.fields[i])) listed.places.push_back(i);
  }
  return listed;
}

bool HasAsLabel(const Stream& stream, const Event& event, std::string_view field) {
  for (size_t i = 0; i < event.values.size(); ++i) {
    if (event.FieldOf(i) != field) continue;
    const auto& marked = event.shape->labels;
    if (!marked) return IsLabelText(event.values[i]) && ListsAsLabel(stream, field);
    return std::ranges::binary_search(*marked, event.PlaceOf(i));
  }
  return false;
}

}  // namespace tallyd

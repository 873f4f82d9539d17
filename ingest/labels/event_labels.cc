#include "ingest/labels/event_labels.h"

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

}  // namespace tallyd

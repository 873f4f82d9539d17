#include "ingest/map/shared_keys.h"

#include <algorithm>

namespace tallyd {
namespace {

// Whether a value that is written as it is for `before` is for `segment`, too: it has no byte that
// must be escaped, of which a segment without a stop has fewer.
bool WritesTheSame(const Segment& segment, const Segment& before) {
  return segment.spec == before.spec && segment.of_time_field == before.of_time_field &&
         (segment.stop == before.stop || segment.stop == '\0');
}

// Likewise of labels, whose heads are made for the byte that follows.
bool WritesTheSame(const LabelsPart& part, const LabelsPart& before) {
  return part.labels == before.labels &&
         (part.segment->stop == before.segment->stop || part.segment->stop == '\0');
}

SharedKey SharedWith(const RowMapping& row, const RowMapping& before) {
  SharedKey shared;
  if (row.plain_key_room == 0 || before.plain_key_room == 0) return shared;
  const size_t most = std::min({row.key.size(), before.key.size(), kMaxSharedParts});
  bool has_time = false;
  for (size_t i = 0; i < most; ++i) {
    const TextPart& part = row.key[i];
    const TextPart& other = before.key[i];
    if (part.index() != other.index()) break;
    if (const auto* text = std::get_if<std::string>(&part)) {
      if (*text != std::get<std::string>(other)) break;
    } else if (const auto* field = std::get_if<FieldPart>(&part)) {
      const auto& of_other = std::get<FieldPart>(other);
      if (field->field != of_other.field) break;
      if (!WritesTheSame(*field->segment, *of_other.segment)) break;
    } else if (const auto* labels = std::get_if<LabelsPart>(&part)) {
      if (!WritesTheSame(*labels, std::get<LabelsPart>(other))) break;
    } else if (const auto* time = std::get_if<TimePart>(&part)) {
      if (time->segment->spec != std::get<TimePart>(other).segment->spec) break;
      has_time = true;
    }
    ++shared.parts_at_one_time;
    if (!has_time) ++shared.parts;
  }
  return shared;
}

}  // namespace

void NumberRows(TableMappings* tables) {
  const RowMapping* before = nullptr;
  for (TableMapping& table : *tables) {
    for (RowMapping& row : table.rows) {
      if (before != nullptr) {
        row.number = before->number + 1;
        row.shared = SharedWith(row, *before);
      }
      before = &row;
    }
  }
}

}  // namespace tallyd

#include "ingest/map/missed_fields.h"

#include <string>
#include <variant>

#include "config/schema/table_rules.h"
#include "storage/store.h"

namespace tallyd {
namespace {

// By field of the shape: whether its value is part of what the table stores.
std::vector<bool> KeptFields(const TableMapping& mapping, size_t fields) {
  std::vector<bool> kept(fields);
  const auto add = [&](size_t field) {
    if (field < fields) kept[field] = true;
  };
  const auto add_text = [&](const std::vector<TextPart>& parts) {
    for (const TextPart& part : parts) {
      if (const auto* value = std::get_if<FieldPart>(&part)) add(value->field);
    }
  };
  const auto add_all = [&](const auto& numbers) {
    for (const auto number : numbers) add(number);
  };
  for (const RowMapping& row : mapping.rows) {
    add_text(row.key);
    add_all(row.gather);
    for (const CellMapping& cell : row.cells) {
      add_text(cell.name.parts);
      if (cell.kind == CellMapping::Kind::kField) add(cell.field);
      if (cell.kind == CellMapping::Kind::kText) add_text(cell.text.parts);
      add_all(cell.blob_fields);
    }
  }
  return kept;
}

}  // namespace

void AddMissed(const TableMapping& mapping, const Shape& shape,
               std::vector<MissedByTable>* missed) {
  if (!KeepsEvents(*mapping.table)) return;  // It never claims to hold everything.
  const bool outside = !mapping.stays_out.empty();
  const std::vector<bool> kept = KeptFields(mapping, shape.fields.size());
  for (uint32_t i = 0; i < shape.fields.size(); ++i) {
    const std::string& field = shape.fields[i];
    if (field == mapping.table->time_field || !TableHolds(*mapping.table, field)) continue;
    if (!outside && kept[i]) continue;
    missed->push_back({mapping.info, i, outside ? kMissedOutside : kMissedInside});
  }
}

}  // namespace tallyd

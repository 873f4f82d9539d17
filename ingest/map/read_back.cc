#include "ingest/map/read_back.h"

#include <algorithm>

#include "config/columns/name_doubts.h"
#include "config/schema/table_rules.h"
#include "ingest/unmap/rule_inverse.h"

namespace tallyd {
namespace {

// Whether the field of the event has this value, which was read from a text. What cannot be told is
// taken for right: a time comes back as the time of the cell.
bool HasValue(const Table& table, const WrittenCell& written, std::string_view field,
              const Value& value) {
  if (field.empty() || field == table.time_field) return true;
  const auto found = std::ranges::find(written.fields, field);
  const auto at = static_cast<size_t>(found - written.fields.begin());
  if (at >= written.values.size()) return true;
  return ToText(written.values[at]) == ToText(value);
}

bool NameReadsBack(const Table& table, const WrittenCell& written, const ColumnMeaning& meaning) {
  const ColumnWriter& by = written.cell.by;
  if (meaning.rule != &table.columns[by.rule]) return false;
  if (meaning.measured == ColumnMeaning::Measured::kFixed && !by.field.empty() &&
      meaning.field != by.field) {
    return false;
  }
  if (meaning.value_in_name && !HasValue(table, written, by.field, meaning.name_value)) {
    return false;
  }
  return std::ranges::all_of(meaning.named, [&](const auto& named) {
    return HasValue(table, written, named.first, named.second);
  });
}

bool TextReadsBack(const Table& table, const WrittenCell& written) {
  const ColumnRule& rule = table.columns[written.cell.by.rule];
  std::vector<KeyField> parts;
  if (!rule.value.Match(written.value->AsView(), &parts)) return false;
  return std::ranges::all_of(parts, [&](const KeyField& part) {
    const Segment& segment = rule.value.segments()[part.segment];
    if (part.value.is_null() || !GivesBackInColumn(segment)) return true;
    if (IsMeasuredField(rule, segment)) return ToText(part.value) == written.cell.by.field;
    const bool is_measured = IsMeasuredValue(rule, segment);
    return HasValue(table, written, is_measured ? written.cell.by.field : segment.field,
                    part.value);
  });
}

}  // namespace

bool ReadsBack(const Table& table, const TableInfo& info, const WrittenCell& written) {
  const CellMapping& cell = written.cell;
  const bool has_value = written.value != nullptr && !written.value->is_null();
  if (written.value != nullptr && !has_value) return true;
  if (MayMeetByCompactName(table, cell.by.rule, written.qualifier)) return false;
  const RuleInverse inverse(table, info, written.fields);
  const ColumnMeaning meaning = inverse.Read({cell.family, written.qualifier});
  if (!NameReadsBack(table, written, meaning)) return false;
  return !has_value || cell.kind != CellMapping::Kind::kText || TextReadsBack(table, written);
}

}  // namespace tallyd

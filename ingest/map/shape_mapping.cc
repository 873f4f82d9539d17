#include "ingest/map/shape_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "config/schema/table_rules.h"
#include "ingest/map/shared_keys.h"

namespace tallyd {
namespace {

// An event that fits no table of a stream with many: so many are told why not.
constexpr size_t kMaxReasons = 5;

std::string WhyNowhere(const Stream& stream, const TableMappings& all) {
  if (all.empty()) return fmt::format("stream {} has no tables", stream.name);
  std::string why = fmt::format("enters no table of stream {}", stream.name);
  for (size_t i = 0; i < all.size() && i < kMaxReasons; ++i) {
    why += fmt::format("{} {}: {}", i == 0 ? ":" : ";", all[i].table->name, all[i].stays_out);
  }
  if (all.size() > kMaxReasons) why += fmt::format("; and {} more", all.size() - kMaxReasons);
  return why;
}

// An event with an object where its time is due has no time, and was meant to have one.
std::unique_ptr<const Refusal> ObjectAsTime(const TableMapping& mapping, const Shape& shape,
                                            TimeUnit unit) {
  if (!mapping.stays_out.empty() || mapping.time_value) return nullptr;
  const std::string& time = mapping.table->time_field;
  const auto is_inside = [&](const std::string& field) {
    return field.size() > time.size() && field.starts_with(time) && field[time.size()] == '/';
  };
  const auto inside = std::ranges::find_if(shape.fields, is_inside);
  if (inside == shape.fields.end()) return nullptr;
  const std::string found = fmt::format("an object, with \"{}\",", Shown(*inside));
  return std::make_unique<const Refusal>(
      Refusal{time, fmt::format("field \"{}\": {}", time, NotATime(found, unit))});
}

// The fields whose values are the row's cells, where it has no others and the store knows its
// columns.
std::optional<std::vector<uint32_t>> PlainCells(const RowMapping& row) {
  if (row.set == nullptr) return std::nullopt;
  std::vector<uint32_t> fields(row.gather.begin(), row.gather.end());
  if (!fields.empty()) return fields;
  for (const CellMapping& cell : row.cells) {
    if (cell.kind != CellMapping::Kind::kField) return std::nullopt;
    fields.push_back(cell.field);
  }
  return fields;
}

// What events must have for the table to treat them as it does those with all fields.
void AddRequired(const TableMapping& mapping, const Shape& shape, std::set<uint32_t>* required) {
  for (const std::string& field : mapping.table->when) required->insert(*shape.Find(field));
  if (mapping.time_value) required->insert(*mapping.time_value);
  for (const RowMapping& row : mapping.rows) {
    for (const TextPart& part : row.key) {
      if (const auto* value = std::get_if<FieldPart>(&part)) required->insert(value->field);
    }
  }
}

bool HasTwoSpellings(const std::vector<CompactField>& compact) {
  std::set<std::string_view> names;
  return std::ranges::any_of(
      compact, [&](const CompactField& field) { return !names.insert(field.compact).second; });
}

// Whether the mapping of all fields tells what becomes of any choice of them.
bool LearnTerms(const Shape& shape, ShapeMapping* mapping) {
  if (mapping->refused || HasTwoSpellings(mapping->compact)) return false;
  std::set<uint32_t> required;
  for (const TableMapping& table : mapping->tables) {
    // Of rows by field each choice has others.
    if (table.rows.size() != 1 || table.table->row_key.names_measured_field()) return false;
    std::optional<std::vector<uint32_t>> cells = PlainCells(table.rows.front());
    if (!cells || !shape.terms->RequireOneOf(*cells)) return false;
    mapping->cells.push_back(std::move(*cells));
    AddRequired(table, shape, &required);
  }
  mapping->required.assign(required.begin(), required.end());
  return true;
}

}  // namespace

bool ShapeMapping::Serves(std::span<const Value> values) const {
  const auto is_present = [&](uint32_t field) { return !values[field].is_null(); };
  return std::ranges::all_of(required, is_present) &&
         std::ranges::all_of(
             cells, [&](const auto& fields) { return std::ranges::any_of(fields, is_present); });
}

bool ShapeMapping::HasLabelsAsText(const Event& event) const {
  if (!event.is_choice()) {
    return std::ranges::all_of(labels_where_text, [&](uint32_t place) {
      return IsLabelText(event.values[place]);
    });
  }
  for (size_t i = 0; i < event.values.size(); ++i) {
    const bool is_listed = std::ranges::binary_search(labels_where_text, event.PlaceOf(i));
    if (is_listed && !IsLabelText(event.values[i])) return false;
  }
  return true;
}

std::unique_ptr<ShapeMapping> CompileShape(const std::deque<MappedTable>& tables,
                                           const Stream& stream, const Shape& shape,
                                           const ShapeLabels& labels, Store* interner) {
  auto mapping = std::make_unique<ShapeMapping>();
  mapping->shape = &shape;
  if (labels.where_text) mapping->labels_where_text = labels.places;
  mapping->text_bits.assign(shape.fields.size(), TypeBit(ValueType::kString));
  for (const uint32_t place : labels.places) mapping->text_bits[place] = kLabelBit;
  TableMappings all;
  for (const MappedTable& table : tables) {
    all.push_back(CompileTableMapping(table, shape, labels.places, interner));
    if (!mapping->refused) mapping->refused = ObjectAsTime(all.back(), shape, stream.unit);
    if (all.back().refused && !mapping->refused) {
      mapping->refused = std::make_unique<const Refusal>(*all.back().refused);
    }
    AddMissed(all.back(), shape, labels.places, &mapping->missed);
  }
  for (TableMapping& table : all) {
    if (table.stays_out.empty()) mapping->tables.push_back(std::move(table));
  }
  NumberRows(&mapping->tables);
  if (mapping->tables.empty()) {
    mapping->refused = std::make_unique<const Refusal>(Refusal{{}, WhyNowhere(stream, all)});
  }
  mapping->known_types = std::make_unique<std::atomic<uint8_t>[]>(shape.fields.size());
  for (uint32_t i = 0; i < shape.fields.size(); ++i) {
    const std::string& field = shape.fields[i];
    const bool compact = std::ranges::any_of(
        tables, [&](const auto& mapped) { return IsCompacted(mapped.table, field); });
    if (compact) mapping->compact.push_back({CompactName(field), field, i});
  }
  if (shape.terms == nullptr) return mapping;
  mapping->serves_choices = LearnTerms(shape, mapping.get());
  if (!mapping->serves_choices) shape.terms->Refuse();
  for (const uint32_t field : mapping->required) shape.terms->Require(field);
  return mapping;
}

}  // namespace tallyd

#include "api/query/stream_fields.h"

#include <algorithm>

#include "config/glob.h"
#include "ingest/measured.h"

namespace tallyd {
namespace {

// The event's own fields that a template names. In a rule that runs per measured field, {field} and
// {value} are none.
void AddTemplate(const std::vector<Segment>& segments, bool per_field, const Table& table,
                 std::map<std::string, uint8_t, std::less<>>* fields) {
  for (const Segment& segment : segments) {
    const bool special = per_field && (segment.field == "field" || segment.field == "value");
    if (segment.is_literal() || special || segment.field == table.time_field) continue;
    fields->try_emplace(segment.field);
  }
}

}  // namespace

StreamFields::StreamFields(const Schema& schema, const Stream& stream, const Store& store)
    : stream_(stream.name) {
  for (const auto& [name, hints] : stream.fields) type_bits_.try_emplace(name);
  type_bits_.try_emplace(stream.time_field);
  for (const size_t index : stream.tables) AddTable(schema.tables[index]);
  for (const FieldInfo& field : store.Fields(stream.name)) {
    type_bits_[field.name] |= field.type_bits;
  }
  names_.reserve(type_bits_.size());
  for (const auto& [name, bits] : type_bits_) names_.push_back(name);
}

void StreamFields::AddTable(const Table& table) {
  type_bits_.try_emplace(table.time_field);
  for (const std::string& field : table.when) type_bits_.try_emplace(field);
  AddTemplate(table.row_key.segments(), true, table, &type_bits_);
  for (const ColumnRule& rule : table.columns) {
    for (const std::string& field : rule.fields) {
      if (!IsGlob(field)) type_bits_.try_emplace(field);
    }
    for (const auto& [field, qualifier] : rule.rename) type_bits_.try_emplace(field);
    AddTemplate(rule.name.segments(), rule.per_field, table, &type_bits_);
    AddTemplate(rule.value.segments(), rule.per_field, table, &type_bits_);
  }
}

bool StreamFields::IsNumber(std::string_view name) const {
  constexpr uint8_t kNumbers = 1u << static_cast<unsigned>(ValueType::kInt64) |
                               1u << static_cast<unsigned>(ValueType::kFloat64);
  const auto it = type_bits_.find(name);
  return it != type_bits_.end() && (it->second & kNumbers) != 0;
}

std::vector<std::string> StreamFields::Matching(std::string_view pattern) const {
  if (!IsGlob(pattern)) {
    return Knows(pattern) ? std::vector{std::string(pattern)} : std::vector<std::string>{};
  }
  std::vector<std::string> matching;
  for (const std::string& name : names_) {
    if (GlobMatches(pattern, name)) matching.push_back(name);
  }
  return matching;
}

Error StreamFields::Unknown(std::string_view name) const {
  std::string message = "stream '" + stream_ + "' has no field '" + std::string(name) + "'";
  const std::vector<std::string> nearest = NearestNames(name, names_);
  for (size_t i = 0; i < nearest.size(); ++i) {
    message += (i == 0 ? "; the nearest are '" : ", '") + nearest[i] + "'";
  }
  return Invalid(std::move(message));
}

bool RuleUses(const Table& table, const ColumnRule& rule, std::string_view field) {
  if (rule.per_field) return RuleTakes(table, rule, field);
  return rule.name.Names(field) || rule.value.Names(field);
}

bool IsMeasured(const Table& table, std::string_view field) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const ColumnRule& rule) { return RuleUses(table, rule, field); });
}

bool IsKeyField(const Table& table, std::string_view field) {
  const std::vector<std::string>& fields = table.row_key.entity_fields();
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

}  // namespace tallyd

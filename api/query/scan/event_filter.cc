#include "api/query/scan/event_filter.h"

#include <algorithm>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {

EventFilter::EventFilter(const EventQuery& query, const Table& table, FieldTable* fields)
    : query_(query), table_(table), fields_(fields) {
  for (const FieldFilter& filter : query.filters) {
    auto& filters = KeyHolds(table, filter.field) ? key_filters_ : rest_filters_;
    filters.push_back({fields->Add(filter.field), &filter.values});
  }
  for (const std::string& pattern : query.fields) {
    const bool key_or_time = KeyHolds(table, pattern) || query.IsTime(table, pattern);
    needs_measured_ = needs_measured_ || !key_or_time;
  }
}

std::vector<std::string> EventFilter::ReadGlobs() const {
  if (!needs_measured_) return {};
  std::vector<std::string> globs = query_.fields;
  for (const FieldFilter& filter : query_.filters) globs.push_back(filter.field);
  globs.insert(globs.end(), query_.by.begin(), query_.by.end());
  return globs;
}

EventFilter::Role EventFilter::RoleOf(uint32_t field) {
  if (field >= roles_.size()) roles_.resize(field + 1, Role::kUnknown);
  if (roles_[field] != Role::kUnknown) return roles_[field];
  const std::string& name = fields_->name(field);
  const auto& patterns = query_.fields;
  Role role = Role::kOther;
  if (KeyHolds(table_, name)) {
    role = Role::kKey;
  } else if (patterns.empty() ||
             std::any_of(patterns.begin(), patterns.end(),
                         [&](const std::string& pattern) { return GlobMatches(pattern, name); })) {
    role = Role::kAsked;
  }
  return roles_[field] = role;
}

bool EventFilter::AcceptsRest(std::span<const EventField> fields) {
  if (needs_measured_ && std::none_of(fields.begin(), fields.end(), [&](const EventField& field) {
        return RoleOf(field.field) == Role::kAsked;
      })) {
    return false;
  }
  return Passes(rest_filters_, fields);
}

bool EventFilter::Passes(const std::vector<Filter>& filters, std::span<const EventField> fields) {
  for (const Filter& filter : filters) {
    const auto it = std::find_if(fields.begin(), fields.end(), [&](const EventField& field) {
      return field.field == filter.field;
    });
    if (it == fields.end() || !IsOneOf(it->value, *filter.values)) return false;
  }
  return true;
}

bool EventFilter::IsOneOf(const Value& value, const std::vector<std::string>& texts) {
  std::string_view text;
  if (value.type() == ValueType::kString || value.type() == ValueType::kBytes) {
    text = value.AsView();
  } else {
    scratch_.clear();
    AppendText(value, &scratch_);
    text = scratch_;
  }
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace tallyd

#include "service/query/scan/event_filter.h"

#include <algorithm>
#include <utility>

#include "config/values/glob.h"
#include "service/query/ask/key_fields.h"

namespace tallyd {

EventFilter::EventFilter(const EventQuery& query, const Table& table, FieldTable* fields)
    : query_(query), table_(table), fields_(fields), wanted_(query, table) {
  for (const FieldFilter& filter : query.filters) {
    const bool in_key = KeyAlwaysTells(table, *query.known, filter.field);
    auto& filters = in_key ? key_filters_ : rest_filters_;
    filters.push_back({fields->Add(filter.field), &filter.values});
  }
  for (const Where& where : query.wheres) {
    const bool in_key = KeyAlwaysTells(table, *query.known, where.field);
    auto& wheres = in_key ? key_wheres_ : rest_wheres_;
    wheres.push_back({fields->Add(where.field), &where});
  }
}

std::vector<std::string> EventFilter::ReadGlobs() const {
  if (wanted_.every_row) return {};
  std::vector<std::string> globs = query_.fields;
  for (std::string& field : query_.FilteredFields()) globs.push_back(std::move(field));
  globs.insert(globs.end(), query_.by.begin(), query_.by.end());
  return globs;
}

bool EventFilter::ReadsLabels() const {
  const std::vector<std::string> globs = ReadGlobs();
  return table_.row_key.holds_labels() &&
         std::ranges::any_of(query_.known->names(), [&](const std::string& name) {
           return query_.known->WasLabel(name) &&
                  std::ranges::any_of(globs, [&](const std::string& glob) {
                    return GlobMatches(glob, name);
                  });
         });
}

const EventFilter::Role& EventFilter::RoleOf(uint32_t field) {
  if (field >= roles_.size()) roles_.resize(field + 1);
  Role& role = roles_[field];
  if (role.known) return role;
  const std::string& name = fields_->name(field);
  const auto& patterns = query_.fields;
  role.known = true;
  role.answered = KeyMayTell(table_, *query_.known, name) || patterns.empty() ||
                  std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
                    return GlobMatches(pattern, name);
                  });
  role.is_reason =
      std::find(wanted_.reasons.begin(), wanted_.reasons.end(), name) != wanted_.reasons.end();
  return role;
}

bool EventFilter::AcceptsRest(std::span<const EventField> fields) {
  if (!wanted_.every_row &&
      std::none_of(fields.begin(), fields.end(),
                   [&](const EventField& field) { return RoleOf(field.field).is_reason; })) {
    return false;
  }
  return Passes(rest_filters_, fields) && Passes(rest_wheres_, fields);
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

bool EventFilter::Passes(const std::vector<Compared>& wheres, std::span<const EventField> fields) {
  return std::ranges::all_of(wheres, [&](const Compared& compared) {
    const auto it = std::ranges::find(fields, compared.field, &EventField::field);
    return it != fields.end() && compared.where->Holds(it->value);
  });
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

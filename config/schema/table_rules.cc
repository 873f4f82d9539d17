#include "config/schema/table_rules.h"

#include <algorithm>

#include "config/values/glob.h"

namespace tallyd {
namespace {

// How a template gives back what `is_wanted` says of its placeholders.
template <class Wanted>
Fidelity FromTemplate(const ValueTemplate& text, bool is_value, const Wanted& is_wanted) {
  const bool told = std::ranges::any_of(text.segments(), [&](const Segment& segment) {
    return GivesBackInColumn(segment) && is_wanted(segment);
  });
  if (!told) return Fidelity::kNone;
  const bool whole =
      is_value && text.is_one_placeholder() && text.segments()[0].spec.info().is_as_is;
  return whole ? Fidelity::kTyped : Fidelity::kText;
}

template <class Wanted>
Fidelity FromRule(const ColumnRule& rule, const Wanted& is_wanted) {
  return std::max(FromTemplate(rule.name, false, is_wanted),
                  FromTemplate(rule.value, true, is_wanted));
}

// How a field comes back that the rule's templates name themselves.
Fidelity FromNamed(const ColumnRule& rule, std::string_view field) {
  return FromRule(rule, [&](const Segment& segment) {
    return segment.field == field && !IsMeasuredField(rule, segment) &&
           !IsMeasuredValue(rule, segment);
  });
}

// How the fields come back that a per-field rule takes: it gives both their name and their value.
Fidelity FromMeasured(const Table& table, const ColumnRule& rule, std::string_view field) {
  const auto is_name = [&](const Segment& segment) { return IsMeasuredField(rule, segment); };
  const auto is_value = [&](const Segment& segment) { return IsMeasuredValue(rule, segment); };
  const bool tells_name = RenamedTo(rule, field) != nullptr || KeyTellsMeasured(table) ||
                          OnlyField(rule) != nullptr || FromRule(rule, is_name) != Fidelity::kNone;
  return tells_name ? FromRule(rule, is_value) : Fidelity::kNone;
}

// Where the row key names {field}, it tells the spelling that was sent.
bool Compacts(const Table& table, const ColumnRule& rule, std::string_view field) {
  return rule.compact_names && !table.row_key.names_measured_field() &&
         RuleTakes(table, rule, field) && RenamedTo(rule, field) == nullptr;
}

void AddNames(const std::vector<Segment>& segments, const ColumnRule& rule,
              std::set<std::string, std::less<>>* names) {
  for (const Segment& segment : segments) {
    const bool is_own =
        !segment.is_literal() && !IsMeasuredField(rule, segment) && !IsMeasuredValue(rule, segment);
    if (is_own) names->insert(segment.field);
  }
}

}  // namespace

bool IsMeasuredField(const ColumnRule& rule, const Segment& segment) {
  return rule.per_field && segment.field == kFieldPlaceholder;
}

bool IsMeasuredValue(const ColumnRule& rule, const Segment& segment) {
  return rule.per_field && segment.field == kValuePlaceholder;
}

bool KeyHolds(const Table& table, std::string_view field) {
  return std::ranges::count(table.row_key.entity_fields(), field) > 0;
}

const std::string* OtherTimeOfKey(const Table& table) {
  const std::string* other = nullptr;
  for (const Segment& segment : table.row_key.segments()) {
    if (segment.is_literal()) continue;
    if (segment.ends_stem()) return nullptr;
    if (segment.spec.is_time() && other == nullptr) other = &segment.field;
  }
  return other;
}

bool KeyTellsMeasured(const Table& table) {
  return std::ranges::any_of(table.row_key.segments(), [](const Segment& segment) {
    return segment.field == kFieldPlaceholder && GivesBackInKey(segment);
  });
}

bool RuleTakes(const Table& table, const ColumnRule& rule, std::string_view field) {
  if (!rule.per_field) return false;
  const bool measured = field != table.time_field && !KeyHolds(table, field);
  if (rule.fields.empty()) return measured;
  return std::ranges::any_of(rule.fields, [&](const std::string& wanted) {
    if (!IsGlob(wanted)) return wanted == field;
    return measured && GlobMatches(wanted, field);
  });
}

bool RuleTakesByName(const ColumnRule& rule, std::string_view field) {
  return rule.per_field && std::ranges::any_of(rule.fields, [field](const std::string& wanted) {
           return !IsGlob(wanted) && wanted == field;
         });
}

bool AnyRuleTakes(const Table& table, std::string_view field) {
  return std::ranges::any_of(table.columns,
                             [&](const ColumnRule& rule) { return RuleTakes(table, rule, field); });
}

const std::string* OnlyField(const ColumnRule& rule) {
  return rule.fields.size() == 1 && !IsGlob(rule.fields[0]) ? &rule.fields[0] : nullptr;
}

std::set<std::string, std::less<>> NeededBy(const Table& table, const ColumnRule& rule) {
  std::set<std::string, std::less<>> names;
  AddNames(rule.name.segments(), rule, &names);
  AddNames(rule.value.segments(), rule, &names);
  std::erase_if(names, [&](const std::string& name) {
    return name == table.time_field || table.row_key.UsesField(name);
  });
  return names;
}

const std::string* RenamedTo(const ColumnRule& rule, std::string_view field) {
  for (const auto& [from, to] : rule.rename) {
    if (from == field) return &to;
  }
  return nullptr;
}

std::string NameInRule(const ColumnRule& rule, std::string_view field) {
  return rule.compact_names ? CompactName(field) : std::string(field);
}

bool IsCompacted(const Table& table, std::string_view field) {
  return std::ranges::any_of(table.columns,
                             [&](const ColumnRule& rule) { return Compacts(table, rule, field); });
}

std::optional<std::string> LastSpelling(const Table& table, const ColumnRule& rule,
                                        std::string_view compact, const Spellings& spellings) {
  for (auto name = spellings.rbegin(); name != spellings.rend(); ++name) {
    if (CompactName(*name) == compact && Compacts(table, rule, *name)) return *name;
  }
  return std::nullopt;
}

std::string SpellingIn(const Table& table, std::string_view name, const Spellings& spellings) {
  if (std::ranges::none_of(table.columns, &ColumnRule::compact_names)) return std::string(name);
  const bool kept_as_sent =
      std::ranges::count(spellings, name) > 0 &&
      std::ranges::any_of(table.columns, [&](const ColumnRule& rule) {
        return !Compacts(table, rule, name) && GivenBack(table, rule, name) != Fidelity::kNone;
      });
  if (kept_as_sent || KeyHolds(table, name)) return std::string(name);
  const std::string compact = CompactName(name);
  for (const ColumnRule& rule : table.columns) {
    if (!rule.compact_names) continue;
    if (auto last = LastSpelling(table, rule, compact, spellings)) return *last;
  }
  return std::string(name);
}

Fidelity GivenBack(const Table& table, const ColumnRule& rule, std::string_view field) {
  const bool taken = RuleTakes(table, rule, field);
  if (rule.serialize != Serialization::kNone) return taken ? Fidelity::kTyped : Fidelity::kNone;
  const Fidelity named = FromNamed(rule, field);
  return taken ? std::max(named, FromMeasured(table, rule, field)) : named;
}

Fidelity GivenBack(const Table& table, std::string_view field) {
  Fidelity best = KeyHolds(table, field) ? Fidelity::kText : Fidelity::kNone;
  for (const ColumnRule& rule : table.columns) best = std::max(best, GivenBack(table, rule, field));
  return best;
}

bool MayComeAsText(const Table& table, std::string_view field) {
  bool as_text = KeyHolds(table, field);
  for (const ColumnRule& rule : table.columns) {
    const Fidelity fidelity = GivenBack(table, rule, field);
    if (fidelity == Fidelity::kText) as_text = true;
    if (fidelity != Fidelity::kTyped) continue;
    const auto needed = NeededBy(table, rule);
    if (std::ranges::all_of(needed, [&](const std::string& name) { return name == field; })) {
      return false;
    }
  }
  return as_text;
}

bool ComesWithOthers(const Table& table, std::string_view field) {
  return std::ranges::any_of(table.columns, [&](const ColumnRule& rule) {
    return rule.per_field && FromNamed(rule, field) != Fidelity::kNone;
  });
}

std::set<std::string, std::less<>> FieldsNamedBy(const Table& table) {
  std::set<std::string, std::less<>> names(table.when.begin(), table.when.end());
  names.insert(table.time_field);
  for (const Segment& segment : table.row_key.segments()) {
    const bool names_field =
        !segment.is_literal() && !segment.is_labels && segment.field != kFieldPlaceholder;
    if (names_field) names.insert(segment.field);
  }
  for (const ColumnRule& rule : table.columns) {
    for (const std::string& field : rule.fields) {
      if (!IsGlob(field)) names.insert(field);
    }
    for (const auto& [field, qualifier] : rule.rename) names.insert(field);
    AddNames(rule.name.segments(), rule, &names);
    AddNames(rule.value.segments(), rule, &names);
  }
  return names;
}

}  // namespace tallyd

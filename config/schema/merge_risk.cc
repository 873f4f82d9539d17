#include "config/schema/merge_risk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

void AddOnce(const std::string& field, std::vector<std::string>* fields) {
  if (std::ranges::count(*fields, field) == 0) fields->push_back(field);
}

// Whether the text is the measured field's value, or the event's own field, and nothing else.
template <class Wanted>
bool IsAlone(const ValueTemplate& text, const Wanted& is_wanted) {
  return text.is_one_placeholder() && text.segments()[0].spec.info().is_as_is &&
         is_wanted(text.segments()[0]);
}

// The name of the column to which a per-field rule writes the field, where it is one name.
std::optional<std::string> NameOf(const ColumnRule& rule, std::string_view field) {
  if (const std::string* renamed = RenamedTo(rule, field)) return *renamed;
  std::string name;
  for (const Segment& segment : rule.name.segments()) {
    if (segment.is_literal()) {
      name += segment.literal;
    } else if (IsMeasuredField(rule, segment) && segment.spec.info().is_as_is) {
      name += NameInRule(rule, field);
    } else {
      return std::nullopt;
    }
  }
  return name;
}

std::optional<std::string> QualifierOf(const Table& table, const ColumnRule& rule,
                                       std::string_view field) {
  if (rule.serialize != Serialization::kNone) return std::nullopt;
  if (RuleTakes(table, rule, field)) {
    const bool is_value =
        IsAlone(rule.value, [&](const Segment& segment) { return IsMeasuredValue(rule, segment); });
    return is_value ? NameOf(rule, field) : std::nullopt;
  }
  const bool is_own = IsAlone(rule.value, [&](const Segment& segment) {
    return segment.field == field && !IsMeasuredField(rule, segment) &&
           !IsMeasuredValue(rule, segment);
  });
  if (!is_own || !rule.name.is_constant()) return std::nullopt;
  return NameOf(rule, field);
}

std::optional<MergeRisk::Kept> FindColumn(const Table& table, const std::string& field) {
  for (const ColumnRule& rule : table.columns) {
    std::optional<std::string> qualifier = QualifierOf(table, rule, field);
    if (qualifier) return MergeRisk::Kept{field, rule.family, std::move(*qualifier)};
  }
  return std::nullopt;
}

// Whether the name of every column tells the field: events that differ in it share no cell.
bool EveryNameTells(const Table& table, std::string_view field) {
  return std::ranges::all_of(table.columns, [&](const ColumnRule& rule) {
    return std::ranges::any_of(rule.name.segments(), [&](const Segment& segment) {
      return GivesBackInColumn(segment) && segment.field == field &&
             !IsMeasuredField(rule, segment) && !IsMeasuredValue(rule, segment);
    });
  });
}

// Of a listed field that is a label the key tells; where it is a number it is another event's.
bool IsHeldAsLabel(const Stream& stream, const Table& table, std::string_view field) {
  return table.row_key.HoldsAsLabel(field) && (stream.of_protocol || ListsAsLabel(stream, field));
}

bool TellsNothing(const Stream& stream, const Table& table, const std::string& field) {
  return IsHeldAsLabel(stream, table, field) || field == table.time_field ||
         field == stream.time_field || field == kFieldPlaceholder || KeyHolds(table, field) ||
         EveryNameTells(table, field);
}

// Labels tell events apart; those that a glob or a protocol stands for the file does not name.
void AddLabels(const Stream& stream, const Table& table, std::vector<std::string>* fields) {
  for (const std::string& label : stream.labels) {
    if (!IsGlob(label) && !TellsNothing(stream, table, label)) AddOnce(label, fields);
  }
}

void AddSerialized(const Table& table, MergeRisk* risk) {
  for (const ColumnRule& rule : table.columns) {
    if (rule.serialize == Serialization::kNone || OnlyField(rule) != nullptr) continue;
    if (std::optional<std::string> name = NameOf(rule, "")) {
      risk->serialized.push_back({rule.family, std::move(*name), rule.serialize});
    }
  }
}

bool IsNamedByValue(const ColumnRule& rule) {
  return rule.per_field && rule.serialize == Serialization::kNone &&
         std::ranges::any_of(rule.name.segments(), [&](const Segment& segment) {
           return !segment.is_literal() && IsMeasuredValue(rule, segment);
         });
}

void AddValued(const Table& table, MergeRisk* risk) {
  for (const Family& family : table.families) {
    MergeRisk::Valued valued{family.name, {}};
    bool any = false;
    for (const ColumnRule& rule : table.columns) {
      if (rule.family != family.name) continue;
      any = any || IsNamedByValue(rule);
      const std::string* const only = OnlyField(rule);
      if (std::optional<std::string> name = NameOf(rule, only == nullptr ? "" : *only);
          name && (only != nullptr || rule.name.is_constant())) {
        valued.others.push_back(std::move(*name));
      }
      for (const auto& [field, renamed] : rule.rename) valued.others.push_back(renamed);
    }
    if (any) risk->valued.push_back(std::move(valued));
  }
}

}  // namespace

std::vector<std::string> MergeRisk::Fields() const {
  std::vector<std::string> fields;
  for (const Kept& each : kept) fields.push_back(each.field);
  fields.insert(fields.end(), untold.begin(), untold.end());
  return fields;
}

bool MayMergeEvents(const Table& table) {
  return KeepsEvents(table) && !table.nightly && std::ranges::none_of(table.families, IsAggregate);
}

bool LacksUnnamedLabels(const Stream& stream, const Table& table) {
  return MayMergeEvents(table) && !table.row_key.holds_labels() &&
         (stream.of_protocol || std::ranges::any_of(stream.labels, IsGlob));
}

std::vector<std::string> QueriedBesideKey(const Stream& stream, const Table& table) {
  std::vector<std::string> fields;
  for (const QueryHint& query : stream.queries) {
    for (const std::string& field : query.fields) {
      if (!TellsNothing(stream, table, field)) AddOnce(field, &fields);
    }
  }
  return fields;
}

MergeRisk MergeRiskOf(const Schema& schema, const Table& table,
                      std::span<const std::string> others) {
  MergeRisk risk;
  const Stream* const stream = schema.FindStream(table.stream);
  if (stream == nullptr || !MayMergeEvents(table)) return risk;
  AddSerialized(table, &risk);
  AddValued(table, &risk);
  std::vector<std::string> fields = QueriedBesideKey(*stream, table);
  AddLabels(*stream, table, &fields);
  const auto add = [&](std::span<const std::string> key_fields) {
    for (const std::string& field : key_fields) {
      if (!TellsNothing(*stream, table, field)) AddOnce(field, &fields);
    }
  };
  for (const size_t index : stream->tables) {
    const Table& other = schema.tables[index];
    if (other.name != table.name) add(other.row_key.entity_fields());
  }
  add(others);
  for (std::string& field : fields) {
    if (std::optional<MergeRisk::Kept> kept = FindColumn(table, field)) {
      risk.kept.push_back(std::move(*kept));
    } else {
      risk.untold.push_back(std::move(field));
    }
  }
  return risk;
}

}  // namespace tallyd

#include "config/schema/column_claims.h"

#include <algorithm>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

bool IsSerialized(const ColumnRule& rule) { return rule.serialize != Serialization::kNone; }

// Whether the rule takes fields that it does not name one by one.
bool IsOpen(const ColumnRule& rule) {
  return rule.fields.empty() || std::ranges::any_of(rule.fields, IsGlob);
}

// The column of one field, where the field alone decides it.
std::optional<std::string> QualifierOf(const ColumnRule& rule, std::string_view field) {
  if (const std::string* renamed = RenamedTo(rule, field)) return *renamed;
  std::string qualifier;
  for (const Segment& segment : rule.name.segments()) {
    if (segment.is_literal()) {
      qualifier += segment.literal;
    } else if (IsMeasuredField(rule, segment) && segment.spec.info().is_as_is) {
      qualifier += NameInRule(rule, field);
    } else {
      return std::nullopt;
    }
  }
  return qualifier;
}

// Whether one glob takes all that the other does: its own text then matches, wildcards and all.
bool Contains(const std::string& glob, const std::string& other) {
  if (glob == other) return true;
  // A '?' would take the other's '*' for a letter.
  return IsGlob(glob) && glob.find('?') == glob.npos && GlobMatches(glob, other);
}

// A field, or a glob, that both rules take for certain.
std::optional<std::string> TakenByBoth(const Table& table, const ColumnRule& a,
                                       const ColumnRule& b) {
  if (a.fields.empty() && b.fields.empty()) return "*";
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const std::string& field : from->fields) {
      const bool taken = !IsGlob(field)
                             ? RuleTakes(table, *to, field)
                             : to->fields.empty() ||
                                   std::ranges::any_of(to->fields, [&](const std::string& other) {
                                     return Contains(other, field);
                                   });
      if (taken) return field;
    }
  }
  return std::nullopt;
}

std::string TextOf(const ColumnWriter& writer) {
  return writer.field.empty() ? "columns[" + std::to_string(writer.rule) + "]"
                              : "field \"" + std::string(writer.field) + "\"";
}

}  // namespace

std::string BothOf(const ColumnWriter& a, const ColumnWriter& b) {
  if (a.rule != b.rule && a.field == b.field) {
    return "both " + TextOf({a.rule, {}}) + " and " + TextOf({b.rule, {}}) +
           (a.field.empty() ? std::string() : ", for " + TextOf(a) + ",");
  }
  return "both " + TextOf(a) + " and " + TextOf(b);
}

ColumnClaims::ColumnClaims(const Table& table) : table_(table) {
  for (size_t rule = 0; rule < table.columns.size(); ++rule) ClaimAll(rule);
  for (size_t b = 1; b < table.columns.size(); ++b) {
    for (size_t a = 0; a < b; ++a) Compare(a, b);
  }
}

const ColumnClaims::Columns& ColumnClaims::ColumnsOf(std::string_view family) const {
  static const Columns kNone;
  const auto found = families_.find(family);
  return found == families_.end() ? kNone : found->second;
}

const ColumnWriter* ColumnClaims::Find(std::string_view family, std::string_view qualifier) const {
  const Columns& columns = ColumnsOf(family);
  const auto found = columns.find(qualifier);
  return found == columns.end() ? nullptr : &found->second;
}

bool ColumnClaims::Allows(std::string_view family, std::string_view qualifier,
                          const ColumnWriter& by) const {
  const ColumnWriter* owner = Find(family, qualifier);
  return owner == nullptr || !MayMeet(*owner, by) ||
         (owner->rule == by.rule && (owner->field.empty() || owner->field == by.field));
}

void ColumnClaims::ClaimAll(size_t index) {
  const ColumnRule& rule = table_.columns[index];
  if (IsSerialized(rule) || !rule.per_field) {
    if (rule.name.is_constant()) Claim(rule.name.text(), {index, {}});
    return;
  }
  for (const auto& [field, qualifier] : rule.rename) Claim(qualifier, {index, field});
  for (const std::string& field : rule.fields) {
    if (IsGlob(field) || RenamedTo(rule, field) != nullptr) continue;
    // Any spelling of a compact name may come, if only one in an event.
    const std::string_view only = rule.compact_names ? std::string_view() : field;
    if (auto qualifier = QualifierOf(rule, field)) Claim(std::move(*qualifier), {index, only});
  }
  if (IsOpen(rule) && rule.name.is_constant()) Claim(rule.name.text(), {index, {}});
}

void ColumnClaims::Claim(std::string qualifier, const ColumnWriter& writer) {
  const std::string& family = table_.columns[writer.rule].family;
  const auto [known, added] = families_[family].try_emplace(std::move(qualifier), writer);
  if (added) return;
  ColumnWriter& owner = known->second;
  const bool is_renamed = RenamedTo(table_.columns[owner.rule], owner.field) != nullptr;
  // One column for all that a rule takes is the rule's, whatever else `fields` names.
  if (owner.rule == writer.rule && writer.field.empty() && !is_renamed) {
    owner.field = {};
  } else if (MayMeet(owner, writer)) {
    Clash(owner, writer, family, known->first);
  }
}

// Whether both can write one row. Where the row key names {field}, each field has rows of its own.
bool ColumnClaims::MayMeet(const ColumnWriter& a, const ColumnWriter& b) const {
  if (!table_.row_key.names_measured_field()) return true;
  const ColumnRule& rule_a = table_.columns[a.rule];
  const ColumnRule& rule_b = table_.columns[b.rule];
  if (!a.field.empty() && !b.field.empty()) return a.field == b.field;
  if (a.field.empty() && b.field.empty()) return TakenByBoth(table_, rule_a, rule_b).has_value();
  return a.field.empty() ? RuleTakes(table_, rule_a, b.field) : RuleTakes(table_, rule_b, a.field);
}

// Rules whose columns only an event's fields tell: of one field that both take they write one
// column.
void ColumnClaims::Compare(size_t index_a, size_t index_b) {
  const ColumnRule& a = table_.columns[index_a];
  const ColumnRule& b = table_.columns[index_b];
  if (a.family != b.family || IsSerialized(a) || IsSerialized(b)) return;
  const bool same_names = a.name.text() == b.name.text() && a.compact_names == b.compact_names;
  if (a.per_field != b.per_field) return;
  if (!a.per_field) {
    if (same_names) Clash({index_a, {}}, {index_b, {}}, a.family, a.name.text());
    return;
  }
  for (const auto& [qualifier, writer] : ColumnsOf(a.family)) {
    if (writer.field.empty() || (writer.rule != index_a && writer.rule != index_b)) continue;
    const size_t other = writer.rule == index_a ? index_b : index_a;
    const ColumnRule& rule = table_.columns[other];
    if (RuleTakes(table_, rule, writer.field) && QualifierOf(rule, writer.field) == qualifier) {
      return Clash(writer, {other, writer.field}, a.family, qualifier);
    }
  }
  if (!same_names || !a.rename.empty() || !b.rename.empty()) return;
  if (TakenByBoth(table_, a, b)) Clash({index_a, {}}, {index_b, {}}, a.family, a.name.text());
}

void ColumnClaims::Clash(const ColumnWriter& a, const ColumnWriter& b, std::string_view family,
                         std::string_view qualifier) {
  if (clash_) return;
  if (a.rule > b.rule) return Clash(b, a, family, qualifier);
  clash_ = BothOf(a, b) + " write column " + std::string(family) + ":" + std::string(qualifier);
}

}  // namespace tallyd

// L33: what aggregate families are given that they cannot take. By the file, a value that is text
// around a placeholder, and a field that the file makes text; by the data, a field of which no
// value ever had a type that the family takes.
#include <array>
#include <utility>

#include "config/lint/rule_groups.h"
#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

// The types that the field's values have had; empty: nobody knows of any.
std::string TypesOf(const LiveField& live) {
  const std::array<std::pair<bool, ValueType>, 5> known = {{{live.is_integer, ValueType::kInt64},
                                                            {live.is_float, ValueType::kFloat64},
                                                            {live.is_bool, ValueType::kBool},
                                                            {live.is_text, ValueType::kString},
                                                            {live.is_bytes, ValueType::kBytes}}};
  std::string types;
  for (const auto& [has, type] : known) {
    if (has) types.append(types.empty() ? "" : ", ").append(ToString(type));
  }
  return types;
}

// Where the key has {labels}, they are no cells unless the rule names them.
bool IsLabelOfKey(const LintSubject& subject, const ColumnRule& rule, const std::string& field) {
  if (!subject.table.row_key.HoldsAsLabel(field) || RuleTakesByName(rule, field)) return false;
  const LiveField* const live = LiveOf(subject, field);
  return live != nullptr ? live->is_label : ListsAsLabel(subject.stream, field);
}

// The fields whose values the rule hands on as they are, as far as they are known by name.
std::set<std::string> InputsOf(const LintSubject& subject, const ColumnRule& rule) {
  if (!rule.value.is_one_placeholder()) return {};
  const Segment& value = rule.value.segments()[0];
  if (!value.spec.info().is_as_is || value.of_time_field || IsMeasuredField(rule, value)) return {};
  if (!IsMeasuredValue(rule, value)) return {value.field};
  std::set<std::string> fields = FieldsOf(subject, rule);
  for (const std::string& label : subject.stream.labels) {
    if (!IsGlob(label) && RuleTakes(subject.table, rule, label)) fields.insert(label);
  }
  std::erase_if(fields,
                [&](const std::string& field) { return IsLabelOfKey(subject, rule, field); });
  return fields;
}

// Empty: it may be taken, or nobody knows.
std::string WhyUnfit(const LintSubject& subject, const std::string& field,
                     const AggregateInfo& family) {
  const LiveField* const live = LiveOf(subject, field);
  const std::string types = live == nullptr ? std::string() : TypesOf(*live);
  if (!types.empty()) {
    const bool fits = family.is_numeric ? live->is_integer : live->is_text || live->is_bytes;
    return fits ? std::string() : "has only ever been " + types;
  }
  if (!family.is_numeric) return {};
  const FieldHints* const hints = HintsOf(subject, field);
  if (hints != nullptr && hints->domain) return "is declared a domain, which is text";
  return ListsAsLabel(subject.stream, field) ? "is listed as a label, which is text" : "";
}

void FindWrongTypes(const LintSubject& subject, const ColumnRule& rule, const Family& family,
                    LintFindings* found) {
  const AggregateInfo& takes = InfoOf(*family.aggregate);
  for (const std::string& field : InputsOf(subject, rule)) {
    const std::string why = WhyUnfit(subject, field, takes);
    if (why.empty()) continue;
    LintFinding finding =
        FindingOf(33, subject.table.name,
                  "field " + Quoted(field) + " " + why + ", and family " + Quoted(family.name) +
                      " of " + std::string(takes.name) + " takes " + std::string(takes.inputs) +
                      ": an event that has it is refused");
    finding.cure = "name in `fields` what the family is to take, or give " + Quoted(field) +
                   " a place in the row key";
    found->all.push_back(std::move(finding));
  }
}

void FindText(const LintSubject& subject, const ColumnRule& rule, const Family& family,
              LintFindings* found) {
  if (!InfoOf(*family.aggregate).is_numeric || rule.value.segments().size() < 2) return;
  found->Add(33, subject.table.name,
             "value " + Quoted(rule.value.text()) + " is text, and family " + Quoted(family.name) +
                 " takes whole numbers");
}

}  // namespace

void LintInputTypes(const LintSubject& subject, LintFindings* found) {
  for (const ColumnRule& rule : subject.table.columns) {
    const Family* const family = FamilyOf(subject.table, rule);
    if (family == nullptr || !family->aggregate) continue;
    FindText(subject, rule, *family, found);
    FindWrongTypes(subject, rule, *family, found);
  }
}

std::vector<LintFinding> LintInputs(const Schema& schema, const LiveFacts* live) {
  LintFindings found;
  for (const Stream& stream : schema.streams) {
    for (const size_t index : stream.tables) {
      LintInputTypes({schema, stream, schema.tables[index], live}, &found);
    }
  }
  return std::move(found.all);
}

}  // namespace tallyd

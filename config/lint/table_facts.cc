#include "config/lint/table_facts.h"

#include <algorithm>

#include "config/schema/table_rules.h"
#include "config/values/calendar_format.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

// A moment in a month of 31 days: a calendar's periods are measured there.
constexpr TimeUs kInLongMonth = 1'426'535'612'045'000;

}  // namespace

std::vector<const Segment*> Placeholders(const Table& table) {
  std::vector<const Segment*> placeholders;
  for (const Segment& segment : table.row_key.segments()) {
    if (!segment.is_literal()) placeholders.push_back(&segment);
  }
  return placeholders;
}

bool TellsTime(const Segment& segment) {
  return !segment.is_literal() && !segment.is_salt() &&
         (segment.spec.is_time() || segment.of_time_field);
}

bool KeyMayHoldAsLabel(const Schema& schema, const Stream& stream, const Table& table,
                       std::string_view field) {
  return table.row_key.HoldsAsLabel(field) &&
         (MayTellLabels(schema, stream) || ListsAsLabel(stream, field));
}

TimeInKey TimeInKeyOf(const Table& table) {
  TimeInKey time;
  bool bounds = false;
  int64_t finest = 0;
  uint32_t units = 0;
  for (const Segment& segment : table.row_key.segments()) {
    if (!TellsTime(segment)) continue;
    time.any = true;
    // A time without a spec is as fine as it came.
    if (!segment.spec.is_time()) return {true, kUsPerMs};
    const TimeRange period = PeriodOf(segment.spec, kInLongMonth);
    const int64_t length = period.to - period.from;
    finest = finest == 0 ? length : std::min(finest, length);
    units |= TimeUnitsOf(segment.spec);
    bounds = bounds || segment.spec.bounds_time;
  }
  if (bounds || UnitsBoundTime(units)) time.period_us = finest;
  return time;
}

const FieldHints* HintsOf(const LintSubject& subject, std::string_view field) {
  const auto found = subject.stream.fields.find(std::string(field));
  return found == subject.stream.fields.end() ? nullptr : &found->second;
}

const LiveField* LiveOf(const LintSubject& subject, std::string_view field) {
  if (subject.live == nullptr) return nullptr;
  const auto stream = subject.live->fields.find(subject.stream.name);
  if (stream == subject.live->fields.end()) return nullptr;
  const auto found = stream->second.find(std::string(field));
  return found == stream->second.end() ? nullptr : &found->second;
}

std::optional<uint64_t> DistinctOf(const LintSubject& subject, std::string_view field) {
  const FieldHints* hints = HintsOf(subject, field);
  if (hints != nullptr && hints->distinct) return hints->distinct;
  const LiveField* live = LiveOf(subject, field);
  return live == nullptr ? std::nullopt : live->distinct;
}

bool IsSequential(const LintSubject& subject, std::string_view field) {
  const FieldHints* hints = HintsOf(subject, field);
  if (hints != nullptr && hints->sequential) return true;
  const LiveField* live = LiveOf(subject, field);
  return live != nullptr && live->looks_sequential;
}

bool HasSequence(const LintSubject& subject) {
  return std::ranges::any_of(Placeholders(subject.table), [&](const Segment* segment) {
    return !segment->is_salt() && IsSequential(subject, segment->field);
  });
}

std::set<std::string> FieldsOf(const LintSubject& subject, const ColumnRule& rule) {
  std::set<std::string> fields;
  if (!rule.per_field) return fields;
  for (const std::string& field : rule.fields) {
    if (!IsGlob(field)) fields.insert(rule.compact_names ? CompactName(field) : field);
  }
  const auto add = [&](const std::string& field) {
    if (!RuleTakes(subject.table, rule, field)) return;
    fields.insert(rule.compact_names ? CompactName(field) : field);
  };
  for (const auto& [field, hints] : subject.stream.fields) add(field);
  if (subject.live == nullptr) return fields;
  const auto live = subject.live->fields.find(subject.stream.name);
  if (live == subject.live->fields.end()) return fields;
  for (const auto& [field, facts] : live->second) add(field);
  return fields;
}

std::set<std::string> FieldsOf(const LintSubject& subject) {
  std::set<std::string> fields;
  for (const ColumnRule& rule : subject.table.columns) fields.merge(FieldsOf(subject, rule));
  return fields;
}

const Family* FamilyOf(const Table& table, const ColumnRule& rule) {
  return table.FindFamily(rule.family);
}

bool NamesTime(const ColumnRule& rule) {
  return std::ranges::any_of(rule.name.segments(), TellsTime);
}

bool NamesReading(const ColumnRule& rule) {
  if (rule.name.Names(kValuePlaceholder)) return true;
  // An empty value: the name is all that there is of the reading, unless it is a time.
  return rule.serialize == Serialization::kNone && rule.value.segments().empty() &&
         !rule.name.is_constant() && !NamesTime(rule);
}

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace tallyd

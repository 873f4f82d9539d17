// How large rows and values become, and how often counters are written.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config/lint/rule_groups.h"
#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kCellBytes = 9;
constexpr double kLargeRow = 100 * kMiB;
constexpr double kMaxRow = 256 * kMiB;
constexpr double kLargeValue = 10 * kMiB;
constexpr double kMaxValue = 100 * kMiB;
constexpr int64_t kHundredAMinuteUs = 60 * kUsPerSecond / 100;
constexpr std::string_view kCounterEnding = "_total";

double BytesOfRule(const LintSubject& subject, const ColumnRule& rule, int64_t period_us) {
  const Family* family = FamilyOf(subject.table, rule);
  if (family == nullptr) return 0;
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  double span = period_us > 0 ? static_cast<double>(period_us) : kForEver;
  if (const auto age = AgeAlone(*family)) span = std::min(span, static_cast<double>(*age));
  double events = span / static_cast<double>(*subject.stream.every_us);
  if (family->max_versions && !family->expire_by_both && !NamesReading(rule) && !NamesTime(rule)) {
    events = std::min(events, static_cast<double>(*family->max_versions));
  }
  // What has no end is L21's.
  if (events == kForEver) return 0;
  double fields = 1;
  if (rule.per_field && !subject.table.row_key.names_measured_field()) {
    fields = std::max<double>(1, static_cast<double>(FieldsOf(subject, rule).size()));
  }
  return std::max(1.0, events) * fields * kCellBytes;
}

void FindLargeRows(const LintSubject& subject, LintFindings* found) {
  if (!KeepsEvents(subject.table) || !subject.stream.every_us) return;
  const TimeInKey time = TimeInKeyOf(subject.table);
  double bytes = 0;
  for (const ColumnRule& rule : subject.table.columns) {
    bytes += BytesOfRule(subject, rule, time.period_us);
  }
  if (bytes <= kLargeRow) return;
  found->Add(22, bytes > kMaxRow ? Severity::kError : Severity::kWarn, subject.table.name,
             fmt::format("a row grows to about {:.0f} MiB, at 9 bytes a cell and an event every {}",
                         bytes / kMiB, FormatDuration(*subject.stream.every_us)));
}

void FindLargeValues(const LintSubject& subject, LintFindings* found) {
  if (subject.live == nullptr) return;
  const auto live = subject.live->tables.find(subject.table.name);
  if (live == subject.live->tables.end()) return;
  const auto bytes = static_cast<double>(live->second.value_bytes);
  if (bytes <= kLargeValue) return;
  found->Add(
      23, bytes > kMaxValue ? Severity::kError : Severity::kWarn, subject.table.name,
      fmt::format("column \"{}\" holds a value of {:.1f} MiB", live->second.column, bytes / kMiB));
}

// A counter that the rule stores, by its name; empty if there is none.
std::string CounterOf(const LintSubject& subject, const ColumnRule& rule) {
  if (rule.name.is_constant() && rule.name.text().ends_with(kCounterEnding)) {
    return rule.name.text();
  }
  for (const std::string& field : rule.fields) {
    if (field.ends_with(kCounterEnding)) return field;
  }
  for (const std::string& field : FieldsOf(subject, rule)) {
    if (field.ends_with(kCounterEnding)) return field;
  }
  return {};
}

void FindBusyCounters(const LintSubject& subject, LintFindings* found) {
  if (subject.table.flush_us) return;
  if (subject.stream.every_us.value_or(kUsPerDay) > kHundredAMinuteUs) return;
  for (const ColumnRule& rule : subject.table.columns) {
    const Family* family = FamilyOf(subject.table, rule);
    if (family == nullptr || IsAggregate(*family)) continue;
    const std::string counter = CounterOf(subject, rule);
    if (counter.empty()) continue;
    found->Add(34, subject.table.name,
               Quoted(counter) + ", by its name a counter, is written every " +
                   FormatDuration(*subject.stream.every_us));
    return;
  }
}

}  // namespace

void LintSizes(const LintSubject& subject, LintFindings* found) {
  FindLargeRows(subject, found);
  FindLargeValues(subject, found);
  FindBusyCounters(subject, found);
}

}  // namespace tallyd

// What becomes of the events that share a row: kept as rows, as versions, or lost.
#include <algorithm>

#include "config/lint/rule_groups.h"

namespace tallyd {
namespace {

constexpr int64_t kFrequentUs = 3600 * kUsPerSecond;

// Updates of one entity come often, unless the stream says otherwise.
bool IsFrequent(const Stream& stream) {
  return stream.every_us.value_or(kUsPerSecond) <= kFrequentUs;
}

bool KeepsOne(const Family& family) { return family.max_versions == 1u && !family.expire_by_both; }

// L35 of the families that keep one version, L18 of the others.
void AddVersions(const LintSubject& subject, Severity severity, const std::string& why,
                 LintFindings* found) {
  const auto& families = subject.table.families;
  if (!std::ranges::all_of(families, KeepsOne)) {
    found->Add(18, severity, subject.table.name,
               why + ": the events of one row are versions of its columns");
  }
  if (std::ranges::any_of(families, KeepsOne)) {
    found->Add(35, severity, subject.table.name,
               why + ", and max_versions is 1: an event takes the place of the one before");
  }
}

EventBecomes EventsOf(const Table& table) { return InfoOf(table.pattern).event_becomes; }

// Keys that are coarser than the events, in a pattern that means a row for each event.
void FindCoarseKey(const LintSubject& subject, const TimeInKey& time, LintFindings* found) {
  if (EventsOf(subject.table) != EventBecomes::kRow || time.period_us <= kUsPerSecond) return;
  const std::optional<int64_t> every = subject.stream.every_us;
  if (every && *every >= time.period_us) return;
  const std::string period = FormatDuration(time.period_us);
  AddVersions(subject, every ? Severity::kWarn : Severity::kInfo,
              "row_key has one row for the events of " + period +
                  (every ? ", and an entity sends one every " + FormatDuration(*every)
                         : ", if an entity sends more than one in that time"),
              found);
}

void FindTimeless(const LintSubject& subject, LintFindings* found) {
  AddVersions(subject, Severity::kWarn, "no time stands in row_key", found);
  if (!IsFrequent(subject.stream)) return;
  found->Add(4, subject.table.name,
             "no time stands in row_key " + Quoted(subject.table.row_key.text()) +
                 ", so one row takes every update of its entity");
}

// Whether the rule's cells in one row come to an end although its events do not.
bool IsBounded(const Family& family, const ColumnRule& rule) {
  if (family.max_age_us) return true;
  const bool new_names = std::ranges::any_of(rule.name.segments(), [](const Segment& segment) {
    return TellsTime(segment) && segment.spec.bounds_time;
  });
  return family.max_versions && !NamesReading(rule) && !new_names;
}

void FindUnbounded(const LintSubject& subject, LintFindings* found) {
  for (const ColumnRule& rule : subject.table.columns) {
    const Family* family = FamilyOf(subject.table, rule);
    if (family == nullptr || IsBounded(*family, rule)) continue;
    found->Add(21, subject.table.name,
               "no time ends a row, and family " + Quoted(family->name) +
                   " keeps whatever events add to it");
    return;
  }
}

void FindGc(const LintSubject& subject, LintFindings* found) {
  const EventBecomes event_becomes = EventsOf(subject.table);
  std::set<std::string> told;
  for (const ColumnRule& rule : subject.table.columns) {
    const Family* family = FamilyOf(subject.table, rule);
    if (family == nullptr || told.contains(family->name)) continue;
    if (event_becomes == EventBecomes::kVersion && !family->max_age_us && !family->max_versions) {
      found->Add(19, subject.table.name,
                 "family " + Quoted(family->name) + " has neither max_age nor max_versions");
      told.insert(family->name);
    }
    if (event_becomes == EventBecomes::kColumn && KeepsOne(*family) && NamesReading(rule)) {
      found->Add(20, subject.table.name,
                 "family " + Quoted(family->name) + " keeps one version of a reading's column");
      told.insert(family->name);
    }
  }
}

}  // namespace

void LintHistory(const LintSubject& subject, LintFindings* found) {
  if (!KeepsEvents(subject.table)) return;
  const TimeInKey time = TimeInKeyOf(subject.table);
  const bool sequence = HasSequence(subject);
  if (!time.any && !sequence) FindTimeless(subject, found);
  FindCoarseKey(subject, time, found);
  FindGc(subject, found);
  if (time.period_us == 0 && !sequence) FindUnbounded(subject, found);
}

}  // namespace tallyd

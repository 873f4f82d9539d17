// How a row key begins: where writes land.
#include <algorithm>

#include "config/lint/rule_groups.h"

namespace tallyd {
namespace {

// Fewer domains than that are few prefixes.
constexpr uint64_t kManyDomains = 10;

// Whether the value never changes: text, and a field that is declared to have one value.
bool IsConstant(const LintSubject& subject, const Segment& segment) {
  if (segment.is_literal()) return true;
  const FieldHints* hints = HintsOf(subject, segment.field);
  return !TellsTime(segment) && hints != nullptr && hints->distinct == 1;
}

void FindHotTime(const LintSubject& subject, LintFindings* found) {
  const std::vector<Segment>& segments = subject.table.row_key.segments();
  const auto varies = std::ranges::find_if(
      segments, [&](const Segment& segment) { return !IsConstant(subject, segment); });
  if (varies == segments.end() || !TellsTime(*varies)) return;
  const std::string& key = subject.table.row_key.text();
  if (varies == segments.begin()) {
    found->Add(1, subject.table.name, "row_key " + Quoted(key) + " begins with a time");
    return;
  }
  const bool rare = subject.stream.every_us && *subject.stream.every_us >= kUsPerDay;
  if (rare) return;
  found->Add(2, subject.table.name,
             "row_key " + Quoted(key) + " has its time directly behind what never changes");
}

void FindSequence(const LintSubject& subject, const Segment& first, LintFindings* found) {
  if (first.spec.info().scatters || TellsTime(first)) return;
  if (!IsSequential(subject, first.field)) return;
  found->Add(3, subject.table.name,
             "row_key begins with " + Quoted(first.field) + ", a sequential number");
}

void FindDomain(const LintSubject& subject, const Segment& first, LintFindings* found) {
  const FieldHints* hints = HintsOf(subject, first.field);
  if (first.is_salt() || hints == nullptr || !hints->domain) return;
  const std::optional<uint64_t> distinct = DistinctOf(subject, first.field);
  if (distinct && *distinct < kManyDomains) {
    found->Add(10, subject.table.name,
               "row_key begins with the domain " + Quoted(first.field) + ", of which there are " +
                   std::to_string(*distinct));
  } else if (!first.spec.info().joins_domains) {
    found->Add(9, subject.table.name,
               "row_key begins with the domain " + Quoted(first.field) + " as it is");
  }
}

}  // namespace

void LintKeyHead(const LintSubject& subject, LintFindings* found) {
  FindHotTime(subject, found);
  const std::vector<const Segment*> placeholders = Placeholders(subject.table);
  if (placeholders.empty()) return;
  FindSequence(subject, *placeholders.front(), found);
  FindDomain(subject, *placeholders.front(), found);
}

}  // namespace tallyd

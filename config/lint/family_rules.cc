// Families: how many, what they keep, what they are called.
#include <algorithm>

#include "config/lint/rule_groups.h"
#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

constexpr size_t kManyFamilies = 100;
constexpr size_t kLongName = 33;
constexpr size_t kMaxQualifierLength = 16'384;

void FindMixedRetention(const LintSubject& subject, LintFindings* found) {
  for (const Family& family : subject.table.families) {
    std::map<int64_t, std::string> kept;  // How long, and a field that is kept so long.
    for (const ColumnRule& rule : subject.table.columns) {
      if (rule.family != family.name) continue;
      for (const auto& [field, hints] : subject.stream.fields) {
        if (hints.keep_us && RuleTakes(subject.table, rule, field)) kept[*hints.keep_us] = field;
      }
    }
    if (kept.size() < 2) continue;
    const auto& [least, brief] = *kept.begin();
    const auto& [most, lasting] = *kept.rbegin();
    found->Add(25, subject.table.name,
               "family " + Quoted(family.name) + " holds " + Quoted(brief) + ", of use for " +
                   FormatDuration(least) + ", and " + Quoted(lasting) + ", for " +
                   FormatDuration(most));
  }
}

// The shortest qualifiers that the rule can write, as far as the file and the data tell.
std::vector<std::string> QualifiersOf(const LintSubject& subject, const ColumnRule& rule) {
  std::vector<std::string> names;
  std::string text;
  bool names_field = false;
  for (const Segment& segment : rule.name.segments()) {
    text += segment.literal;
    names_field = names_field || IsMeasuredField(rule, segment);
  }
  names.push_back(text);
  for (const auto& [field, qualifier] : rule.rename) names.push_back(qualifier);
  if (!names_field) return names;
  for (const std::string& field : FieldsOf(subject, rule)) {
    if (RenamedTo(rule, field) == nullptr) names.push_back(text + field);
  }
  return names;
}

std::string Shortened(const std::string& name) {
  constexpr size_t kShown = 60;
  return Quoted(name.size() <= kShown ? name : name.substr(0, kShown) + "...") + " has " +
         std::to_string(name.size()) + " bytes";
}

void FindLongNames(const LintSubject& subject, LintFindings* found) {
  const std::string& table = subject.table.name;
  for (const Family& family : subject.table.families) {
    if (family.name.size() >= kLongName) found->Add(26, table, "family " + Shortened(family.name));
  }
  std::set<std::string> names;
  for (const ColumnRule& rule : subject.table.columns) {
    for (std::string& name : QualifiersOf(subject, rule)) {
      if (name.size() >= kLongName) names.insert(std::move(name));
    }
  }
  if (names.empty()) return;
  const std::string& longest = *std::ranges::max_element(names, {}, &std::string::size);
  std::string detail = "column name " + Shortened(longest);
  if (names.size() > 1) {
    detail += ", and " + std::to_string(names.size() - 1) + " more have 33 or more";
  }
  found->Add(26, longest.size() > kMaxQualifierLength ? Severity::kError : Severity::kWarn, table,
             std::move(detail));
}

}  // namespace

void LintFamilies(const LintSubject& subject, LintFindings* found) {
  const size_t families = subject.table.families.size();
  if (families > kManyFamilies) {
    found->Add(24, subject.table.name, "it has " + std::to_string(families) + " families");
  }
  FindMixedRetention(subject, found);
  FindLongNames(subject, found);
}

}  // namespace tallyd

#include "config/columns/name_doubts.h"

#include <algorithm>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

bool IsNamedForFields(const ColumnRule& rule) { return rule.name.text() == "{field}"; }

bool StoresBlob(const ColumnRule& rule) { return rule.serialize != Serialization::kNone; }

// Whether a text of the template may be taken apart in more than one way.
bool IsAmbiguous(const ValueTemplate& text) {
  return std::ranges::count_if(text.segments(), [](const Segment& segment) {
           return !segment.is_literal() && FixedWidth(segment.spec) == 0;
         }) > 1;
}

// What any name of the rule begins with: one of these.
std::vector<std::string> BeginningsOf(const ColumnRule& rule) {
  std::string literal;
  const auto& segments = rule.name.segments();
  size_t at = 0;
  if (at < segments.size() && segments[at].is_literal()) literal = segments[at++].literal;
  const bool goes_on = at < segments.size() && IsMeasuredField(rule, segments[at]) &&
                       segments[at].spec.info().is_as_is && !rule.fields.empty();
  if (!goes_on) return {literal};
  std::vector<std::string> beginnings;
  for (const std::string& field : rule.fields) {
    const std::string begin = field.substr(0, field.find_first_of("*?"));
    beginnings.push_back(literal + (rule.compact_names ? CompactName(begin) : begin));
  }
  return beginnings;
}

bool MayBeginAlike(const ColumnRule& a, const ColumnRule& b) {
  const std::vector<std::string> of_b = BeginningsOf(b);
  return std::ranges::any_of(BeginningsOf(a), [&](const std::string& one) {
    return std::ranges::any_of(of_b, [&](const std::string& other) {
      return one.starts_with(other) || other.starts_with(one);
    });
  });
}

// Where the file names the columns of either, an event that would take one is refused.
bool MayMakeOneName(const ColumnRule& a, const ColumnRule& b) {
  return a.family == b.family && !NamesAreInFile(a) && !NamesAreInFile(b) &&
         MayShareColumns(a, b) && MayBeginAlike(a, b);
}

std::string RuleAt(size_t rule) { return "columns[" + std::to_string(rule) + "]"; }

bool TakesByGlob(const std::vector<std::string>& fields, std::string_view name, bool compact) {
  return fields.empty() || std::ranges::any_of(fields, [&](const std::string& glob) {
           return GlobMatches(compact ? CompactName(glob) : glob, name);
         });
}

}  // namespace

bool NamesAreInFile(const ColumnRule& rule) {
  const auto is_told = [&](const Segment& segment) {
    return segment.is_literal() || IsMeasuredField(rule, segment);
  };
  return rule.name.is_constant() ||
         (!rule.fields.empty() && std::ranges::none_of(rule.fields, IsGlob) &&
          std::ranges::all_of(rule.name.segments(), is_told));
}

std::vector<NameDoubt> NameDoubtsOf(const Table& table) {
  std::vector<NameDoubt> doubts;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnRule& rule = table.columns[i];
    if (StoresBlob(rule)) continue;
    for (const auto& [what, text] : {std::pair("name", &rule.name), {"value", &rule.value}}) {
      if (!IsAmbiguous(*text)) continue;
      doubts.push_back({i, i,
                        "the " + std::string(what) + " \"" + text->text() + "\" of " + RuleAt(i) +
                            " cannot be read back where a value holds the text between its parts"});
    }
    for (size_t k = 0; k < i; ++k) {
      if (StoresBlob(table.columns[k]) || !MayMakeOneName(table.columns[k], rule)) continue;
      doubts.push_back({i, k,
                        RuleAt(k) + " and " + RuleAt(i) +
                            " may make one column of two events, which takes the other's place"});
    }
  }
  return doubts;
}

bool MayMeetByCompactName(const Table& table, size_t index, std::string_view qualifier) {
  const ColumnRule& rule = table.columns[index];
  if (!IsNamedForFields(rule) || qualifier != CompactName(qualifier)) return false;
  return std::ranges::any_of(table.columns, [&](const ColumnRule& other) {
    return other.family == rule.family && other.per_field && IsNamedForFields(other) &&
           other.compact_names != rule.compact_names && !NamesAreInFile(other) &&
           TakesByGlob(other.fields, qualifier, other.compact_names);
  });
}

}  // namespace tallyd

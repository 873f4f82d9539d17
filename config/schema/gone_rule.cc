#include "config/schema/gone_rule.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

using Names = std::set<std::string, std::less<>>;

// Reads what CanonicalText wrote.
class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view text) : rest_(text) {}

  bool Skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool ReadNumber(size_t* number) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool ReadCounted(std::string* text) {
    size_t size = 0;
    if (!ReadNumber(&size) || !Skip(":") || size > rest_.size()) return false;
    *text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool AllAreIn(const Names& names, const Names& in) {
  return std::includes(in.begin(), in.end(), names.begin(), names.end());
}

bool TakesAnyOf(const Names& names, const ColumnRule& rule, const Table& table) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return RuleTakes(table, rule, name); });
}

// Whether the per-field rule takes all that another takes by `wanted`, a name or a glob.
bool TakesAllOf(const std::string& wanted, const ColumnRule& rule, const Table& table) {
  if (!rule.per_field) return false;
  if (!IsGlob(wanted)) return RuleTakes(table, rule, wanted);
  return rule.fields.empty() || std::ranges::count(rule.fields, wanted) > 0;
}

bool MayTakeTheSame(const ColumnRule& a, const ColumnRule& b) {
  if (a.fields.empty() || b.fields.empty()) return true;
  return std::ranges::any_of(a.fields, [&](const std::string& of_a) {
    return std::ranges::any_of(b.fields, [&](const std::string& of_b) {
      return of_a == of_b || GlobMatches(of_a, of_b) || GlobMatches(of_b, of_a) ||
             (IsGlob(of_a) && IsGlob(of_b));
    });
  });
}

// Whether for each of the fields that `gone` takes some rule of the table's that needs no more than
// `given` takes it, too.
bool AreTaken(const ColumnRule& gone, const Names& given, const Table& table) {
  const auto is_taken = [&](const auto& takes) {
    return std::ranges::any_of(table.columns, [&](const ColumnRule& rule) {
      return AllAreIn(NeededBy(table, rule), given) && takes(rule);
    });
  };
  if (gone.fields.empty()) {
    return is_taken([](const ColumnRule& rule) { return rule.per_field && rule.fields.empty(); });
  }
  return std::ranges::all_of(gone.fields, [&](const std::string& wanted) {
    return is_taken([&](const ColumnRule& rule) { return TakesAllOf(wanted, rule, table); });
  });
}

}  // namespace

std::optional<ColumnRule> FromCanonicalText(std::string_view text, std::string_view time_field) {
  CanonicalReader in(text);
  ColumnRule rule;
  rule.per_field = in.Skip("field");
  if (!rule.per_field && !in.Skip("event")) return std::nullopt;
  rule.compact_names = in.Skip(" compact");
  size_t serialize = 0;
  std::string name;
  std::string value;
  if (!in.Skip(" ") || !in.ReadNumber(&serialize) || !in.Skip(" ") ||
      !in.ReadCounted(&rule.family) || !in.Skip(" ") || !in.ReadCounted(&name) || !in.Skip(" ") ||
      !in.ReadCounted(&value) || !in.Skip(" fields")) {
    return std::nullopt;
  }
  rule.serialize = static_cast<Serialization>(serialize);
  while (!in.Skip(" rename")) {
    if (!in.ReadCounted(&rule.fields.emplace_back())) return std::nullopt;
  }
  while (!in.done()) {
    auto& [field, qualifier] = rule.rename.emplace_back();
    if (!in.ReadCounted(&field) || !in.ReadCounted(&qualifier)) return std::nullopt;
  }
  Result<ValueTemplate> name_template = ValueTemplate::Parse(name, time_field);
  Result<ValueTemplate> value_template = ValueTemplate::Parse(value, time_field);
  if (!name_template || !value_template) return std::nullopt;
  rule.name = std::move(*name_template);
  rule.value = std::move(*value_template);
  if (CanonicalText(rule) != text) return std::nullopt;
  return rule;
}

bool EntersWithout(const ColumnRule& gone, const Table& table) {
  const Names given = NeededBy(table, gone);
  const bool by_what_it_needs = std::ranges::any_of(table.columns, [&](const ColumnRule& rule) {
    return AllAreIn(NeededBy(table, rule), given) &&
           (!rule.per_field || TakesAnyOf(given, rule, table));
  });
  return by_what_it_needs || (gone.per_field && AreTaken(gone, given, table));
}

bool KeepsWithout(const ColumnRule& gone, const ColumnRule& kept, const Table& table) {
  const Names needed = NeededBy(table, kept);
  if (needed.empty() || (!kept.per_field && needed.size() == 1)) return true;
  const Names given = NeededBy(table, gone);
  if (!gone.per_field && AllAreIn(needed, given)) return true;
  const bool takes_the_same =
      (gone.per_field && kept.per_field && MayTakeTheSame(gone, kept)) ||
      TakesAnyOf(needed, gone, table) || TakesAnyOf(given, kept, table) ||
      std::ranges::any_of(needed, [&](const std::string& name) { return given.contains(name); });
  if (!takes_the_same) return true;
  const bool given_taken = std::ranges::all_of(given, [&](const std::string& name) {
    return std::ranges::any_of(table.columns, [&](const ColumnRule& rule) {
      return NeededBy(table, rule).empty() && RuleTakes(table, rule, name);
    });
  });
  return given_taken && (!gone.per_field || AreTaken(gone, {}, table));
}

}  // namespace tallyd

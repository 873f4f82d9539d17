// What only the tables together tell: too many of them, and too much alike.
#include <algorithm>

#include "config/lint/rule_groups.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr uint64_t kMostTables = 1000;

enum class Kind : uint8_t { kDigits, kLetters, kOther };

Kind KindOfByte(char c) {
  if (IsDigit(c)) return Kind::kDigits;
  return c == '_' || c == '-' || c == '.' ? Kind::kOther : Kind::kLetters;
}

// "METRIC_2024" has METRIC, _, 2024; "CPU_m1" has CPU, _, m1 or, where digits count as parts of
// their own, CPU, _, m, 1.
std::vector<std::string> PartsOf(const std::string& name, bool digits_apart) {
  std::vector<std::string> parts;
  const auto kind = [&](char c) {
    return !digits_apart && IsDigit(c) ? Kind::kLetters : KindOfByte(c);
  };
  for (const char c : name) {
    const bool joins = !parts.empty() && kind(parts.back().back()) == kind(c);
    if (!joins) parts.emplace_back();
    parts.back().push_back(c);
  }
  return parts;
}

// What two tables share that hold the same for another tenant or period.
std::string ShapeOf(const Table& table) {
  std::string shape(ToString(table.pattern));
  shape.append("\n").append(table.row_key.text());
  for (const Family& family : table.families) shape.append("\n").append(family.name);
  for (const ColumnRule& rule : table.columns) shape.append("\n").append(CanonicalText(rule));
  return shape;
}

// The names of two tables that differ in one part of several; the rest, with '*' there. Empty if
// they differ otherwise.
std::string CommonName(const std::string& a, const std::string& b, bool digits_apart) {
  const std::vector<std::string> of_a = PartsOf(a, digits_apart);
  const std::vector<std::string> of_b = PartsOf(b, digits_apart);
  if (of_a.size() != of_b.size() || of_a.size() < 2) return {};
  std::string common;
  size_t different = 0;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const bool same = of_a[i] == of_b[i];
    if (!same) ++different;
    common += same ? of_a[i] : "*";
  }
  return different == 1 ? common : std::string();
}

void FindTwins(const Schema& schema, LintFindings* found) {
  std::map<std::string, std::vector<const Table*>> by_shape;
  for (const Table& table : schema.tables) by_shape[ShapeOf(table)].push_back(&table);
  for (const auto& [shape, tables] : by_shape) {
    std::map<std::string, std::set<std::string>> groups;  // Names by what they share.
    // Each with the first and with the one before: names come in runs, and 1,000 are few pairs.
    for (size_t i = 1; i < tables.size(); ++i) {
      for (const size_t other : {size_t{0}, i - 1}) {
        std::string common = CommonName(tables[i]->name, tables[other]->name, false);
        if (common.empty()) common = CommonName(tables[i]->name, tables[other]->name, true);
        if (common.empty()) continue;
        groups[common].insert(tables[i]->name);
        groups[common].insert(tables[other]->name);
      }
    }
    for (const auto& [common, names] : groups) {
      found->Add(27, *names.begin(),
                 std::to_string(names.size()) + " tables of equal shape are called " +
                     Quoted(common) + ", from " + Quoted(*names.begin()) + " to " +
                     Quoted(*names.rbegin()));
    }
  }
}

void FindDefaultTables(const Schema& schema, LintFindings* found) {
  for (const Table& table : schema.tables) {
    if (!table.of_protocol || !KeepsEvents(table)) continue;
    found->AddSchema(8, table.name,
                     "a protocol's section makes this table, with row_key " +
                         Quoted(table.row_key.text()) + "; nothing in it ever expires");
  }
}

void FindEndlessNights(const Schema& schema, LintFindings* found) {
  for (const Table& table : schema.tables) {
    if (!table.daily || table.daily->keep_us) continue;
    found->Add(
        27, table.name,
        "nightly tables " + Quoted(table.daily->name()) + " without keep: one more each day");
  }
}

void FindTooMany(const Schema& schema, LintFindings* found) {
  uint64_t tables = schema.tables.size();
  uint64_t nightly = 0;
  for (const Table& table : schema.tables) {
    if (!table.daily || !table.daily->keep_us) continue;
    nightly += static_cast<uint64_t>((*table.daily->keep_us + kUsPerDay - 1) / kUsPerDay);
  }
  tables += nightly;
  if (tables <= kMostTables) return;
  found->Add(28, "",
             "there are " + std::to_string(tables) + " tables, " + std::to_string(nightly) +
                 " of them nightly; 1000 are the limit");
}

void FindSplitAggregates(const Schema& schema, LintFindings* found) {
  for (const Stream& stream : schema.streams) {
    const Table* first = nullptr;
    for (const size_t index : stream.tables) {
      const Table& table = schema.tables[index];
      if (!MergesInputs(table)) continue;
      if (first == nullptr) first = &table;
      if (first->row_key.text() == table.row_key.text()) continue;
      found->Add(29, table.name,
                 "stream " + Quoted(stream.name) + " feeds " + Quoted(first->name) + " by " +
                     Quoted(first->row_key.text()) + " and this table by " +
                     Quoted(table.row_key.text()));
    }
  }
}

}  // namespace

void LintInstance(const Schema& schema, LintFindings* found) {
  FindTwins(schema, found);
  FindEndlessNights(schema, found);
  FindDefaultTables(schema, found);
  FindTooMany(schema, found);
  FindSplitAggregates(schema, found);
}

}  // namespace tallyd

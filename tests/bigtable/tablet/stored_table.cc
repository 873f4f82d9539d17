#include "tests/bigtable/tablet/stored_table.h"

#include <algorithm>
#include <iterator>

namespace tallyd::tablet {
namespace {

// Whether the rule lets go of a cell of this time before which so many newer ones of its column
// stand.
bool IsDoomed(const admin::GcRule& rule, int newer, int64_t time_us, int64_t now_us) {
  const auto dooms = [&](const admin::GcRule& one) {
    return IsDoomed(one, newer, time_us, now_us);
  };
  switch (rule.rule_case()) {
    case admin::GcRule::kMaxNumVersions:
      return newer >= rule.max_num_versions();
    case admin::GcRule::kMaxAge: {
      const int64_t age_us = rule.max_age().seconds() * 1'000'000 + rule.max_age().nanos() / 1000;
      return time_us < now_us - age_us;
    }
    case admin::GcRule::kUnion:
      return std::ranges::any_of(rule.union_().rules(), dooms);
    case admin::GcRule::kIntersection: {
      const auto& rules = rule.intersection().rules();
      return !rules.empty() && std::ranges::all_of(rules, dooms);
    }
    case admin::GcRule::RULE_NOT_SET:
      break;
  }
  return false;
}

void Collect(const admin::GcRule& rule, int64_t now_us, Columns* columns) {
  for (auto column = columns->begin(); column != columns->end();) {
    int newer = 0;
    std::erase_if(column->second,
                  [&](const auto& cell) { return IsDoomed(rule, newer++, cell.first, now_us); });
    column = column->second.empty() ? columns->erase(column) : std::next(column);
  }
}

}  // namespace

const std::string* StoredTable::NameOf(int serial) const {
  for (const auto& [family_name, family] : families) {
    if (family.serial == serial) return &family_name;
  }
  return nullptr;
}

void StoredTable::CollectGarbage(int64_t now_us) {
  for (auto row = rows.begin(); row != rows.end();) {
    for (const auto& [family_name, family] : families) {
      const auto columns = row->second.find(family.serial);
      if (columns == row->second.end() || !family.definition.has_gc_rule()) continue;
      Collect(family.definition.gc_rule(), now_us, &columns->second);
      if (columns->second.empty()) row->second.erase(columns);
    }
    row = row->second.empty() ? rows.erase(row) : std::next(row);
  }
}

void StoredTable::SplitTablets(size_t rows_max) {
  size_t in_tablet = 0;
  auto split = splits.begin();
  std::vector<std::string> found;
  for (const auto& [key, row] : rows) {
    while (split != splits.end() && *split <= key) {
      ++split;
      in_tablet = 0;
    }
    if (++in_tablet > rows_max) {
      found.push_back(key);
      in_tablet = 1;
    }
  }
  splits.insert(found.begin(), found.end());
}

void StoredTable::Drop(const std::string& prefix) {
  auto row = rows.lower_bound(prefix);
  while (row != rows.end() && row->first.starts_with(prefix)) row = rows.erase(row);
}

std::vector<std::pair<std::string, int64_t>> StoredTable::Samples() const {
  std::vector<std::pair<std::string, int64_t>> samples;
  int64_t bytes = 0;
  auto split = splits.begin();
  for (const auto& [key, row] : rows) {
    for (; split != splits.end() && *split <= key; ++split) samples.emplace_back(*split, bytes);
    bytes += static_cast<int64_t>(key.size() + BytesOf(row));
  }
  for (; split != splits.end(); ++split) samples.emplace_back(*split, bytes);
  samples.emplace_back("", bytes);
  return samples;
}

size_t BytesOf(const StoredRow& row) {
  size_t bytes = 0;
  for (const auto& [family, columns] : row) {
    for (const auto& [qualifier, versions] : columns) {
      for (const auto& [time, value] : versions) {
        bytes += qualifier.size() + sizeof(time) + value.size();
      }
    }
  }
  return bytes;
}

std::string PutInt64(int64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) {
    bytes[7 - i] = static_cast<char>(static_cast<uint64_t>(number) >> (8 * i) & 0xff);
  }
  return bytes;
}

int64_t GetInt64(const std::string& bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return static_cast<int64_t>(number);
}

}  // namespace tallyd::tablet

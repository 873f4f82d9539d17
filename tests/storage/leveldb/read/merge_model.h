// What a scan of a history table gives, worked out from the plain list of what was written.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_READ_MERGE_MODEL_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_READ_MERGE_MODEL_H_

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/scan.h"
#include "tests/storage/leveldb/history_maker.h"

namespace tallyd {

// "row:time=value time=value", a line for each row.
using ScannedRows = std::vector<std::string>;

inline std::string ScannedRow(std::string_view key) { return std::string(key) + ":"; }
inline void AddCell(TimeUs time, const Value& value, std::string* row) {
  if (row->back() != ':') row->append(" ");
  row->append(std::to_string(time)).append("=").append(ToText(value));
}

inline ScannedRows ExpectedRows(std::vector<HistoryEntry> entries, const ScanSpec& spec,
                                const DeleteList& deletes) {
  std::sort(entries.begin(), entries.end());
  std::map<std::string, std::string> rows;
  const HistoryEntry* before = nullptr;
  uint32_t versions = 0;
  for (const HistoryEntry& entry : entries) {
    const bool in_range = std::ranges::any_of(spec.ranges, [&](const KeyRange& range) {
      return entry.row >= range.start && (range.end.empty() || entry.row < range.end);
    });
    const bool hidden = std::ranges::any_of(deletes, [&](const auto& range) {
      return range->CoversRow(entry.row) && range->HidesEntry(entry.time, entry.sequence);
    });
    if (!in_range || hidden || !spec.cells.Contains(entry.time)) continue;
    if (before != nullptr && before->row == entry.row && before->time == entry.time) continue;
    versions = before != nullptr && before->row == entry.row ? versions + 1 : 1;
    before = &entry;
    if ((spec.versions > 0 && versions > spec.versions) || (spec.keys_only && versions > 1)) {
      continue;
    }
    std::string& row = rows.try_emplace(entry.row, ScannedRow(entry.row)).first->second;
    AddCell(entry.time, Value::Int(entry.value), &row);
  }
  ScannedRows lines;
  for (const auto& [key, row] : rows) lines.push_back(row);
  if (spec.reverse) std::reverse(lines.begin(), lines.end());
  if (spec.limit > 0 && lines.size() > spec.limit) lines.resize(spec.limit);
  return lines;
}

// Entries in files of old and heads of new, and deletes between them; some are rewrites.
struct RandomEntries {
  std::vector<HistoryEntry> all;
  DeleteList deletes;

  RandomEntries(std::mt19937_64& random, HistoryMaker* maker) {
    const bool is_series = random() % 2 == 0;
    uint64_t sequence = 0;
    const auto batch = [&] {
      std::vector<HistoryEntry> entries;
      for (uint64_t count = 1 + random() % 150; count > 0; --count) {
        const auto ms = static_cast<TimeUs>(1'000'000'000'000 + random() % 120);
        std::string row(1, static_cast<char>('a' + random() % 6));
        if (is_series) row += std::to_string(ms);
        entries.push_back({row, ms * 1000, ++sequence, static_cast<int64_t>(random() % 1000)});
      }
      all.insert(all.end(), entries.begin(), entries.end());
      return entries;
    };
    for (uint64_t files = random() % 4; files > 0; --files) maker->MakeFile(batch());
    for (uint64_t heads = random() % 3; heads > 0; --heads) {
      maker->Put(batch());
      if (random() % 3 == 0) AddDelete(random, ++sequence);
      maker->BeginHead();
    }
    maker->Put(batch());
  }

 private:
  void AddDelete(std::mt19937_64& random, uint64_t sequence) {
    DeleteSpec what;
    what.rows.start = std::string(1, static_cast<char>('a' + random() % 6));
    what.rows.end = random() % 2 == 0 ? "" : what.rows.start + "~";
    if (random() % 2 == 0) what.cells.to = 1'000'000'000'060'000;
    deletes.push_back(std::make_shared<const DeleteRange>(HistoryMaker::kTable, sequence, what));
  }
};

inline ScanSpec RandomSpec(std::mt19937_64& random) {
  ScanSpec spec;
  if (random() % 2 == 0) spec.ranges = {{"a", "b"}, {"c", "c1000000000050"}, {"e", ""}};
  if (random() % 3 == 0) spec.cells = {1'000'000'000'030'000, 1'000'000'000'090'000};
  if (random() % 4 == 0) spec.versions = 1 + static_cast<uint32_t>(random() % 3);
  if (random() % 4 == 0) spec.limit = 1 + random() % 5;
  return spec;
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_READ_MERGE_MODEL_H_

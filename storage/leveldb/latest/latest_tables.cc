#include "storage/leveldb/latest/latest_tables.h"

#include <mutex>

#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

// REQUIRES: a key of the latest space.
TableId TableOf(std::string_view key) { return DecodeU32(key.data() + 1); }

}  // namespace

std::vector<std::pair<std::string, LatestRow>> LatestTables::Read(const KeyRange& database,
                                                                  bool reverse,
                                                                  size_t limit) const {
  std::vector<std::pair<std::string, LatestRow>> read;
  const std::shared_lock lock(mutex_);
  auto begin = rows_.lower_bound(database.start);
  auto end = rows_.lower_bound(database.end);
  if (database.start >= database.end) return read;
  while (begin != end && read.size() < limit) {
    const auto next = reverse ? --end : begin++;
    read.emplace_back(next->first, next->second);
  }
  return read;
}

uint64_t LatestTables::Count(const KeyRange& database, uint64_t limit) const {
  const std::shared_lock lock(mutex_);
  uint64_t count = 0;
  for (auto row = rows_.lower_bound(database.start);
       row != rows_.end() && row->first < database.end && count < limit; ++row) {
    ++count;
  }
  return count;
}

uint64_t LatestTables::RowsOf(TableId table) const {
  const std::shared_lock lock(mutex_);
  const auto count = counts_.find(table);
  return count == counts_.end() ? 0 : count->second;
}

LatestRow* LatestTables::Find(std::string_view key) {
  const auto row = rows_.find(key);
  return row == rows_.end() ? nullptr : &row->second;
}

LatestRow LatestTables::Get(std::string_view key) const {
  const std::shared_lock lock(mutex_);
  const auto row = rows_.find(key);
  return row == rows_.end() ? nullptr : row->second;
}

void LatestTables::Publish(LatestChanges* changed) {
  if (changed->empty()) return;
  const std::unique_lock lock(mutex_);
  for (auto& [key, change] : *changed) {
    if (change.row && change.stored != nullptr) {
      std::swap(*change.stored, change.row);
    } else if (change.row) {
      rows_.emplace(key, std::move(change.row));
      ++counts_[TableOf(key)];
    } else if (change.stored != nullptr) {
      --counts_[TableOf(key)];
      rows_.erase(rows_.find(key));
    }
  }
}

void LatestTables::Replace(Rows rows) {
  const std::unique_lock lock(mutex_);
  rows_ = std::move(rows);
  counts_.clear();
  for (const auto& [key, row] : rows_) ++counts_[TableOf(key)];
}

}  // namespace tallyd

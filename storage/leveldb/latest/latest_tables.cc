#include "storage/leveldb/latest/latest_tables.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <random>

namespace tallyd {
namespace {

constexpr size_t kCopiedBytes = 256u << 10;
// Of a table of a million rows all that there are; of larger ones the lock is let go in between.
constexpr size_t kCountedChunks = 8192;

bool IsEmpty(const KeyRange& range) { return !range.end.empty() && range.start >= range.end; }

}  // namespace

LatestKeySet::LatestKeySet() {
  std::random_device random;
  seed_ = (uint64_t{random()} << 32) | random();
}

bool LatestKeySet::Add(const LatestKey& row) {
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(row.key.data(), row.key.size(), seed_ + row.table);
  return hashes_.insert({hash.low64, hash.high64}).second;
}

const LatestRows& LatestTables::Of(TableId table) const {
  static const LatestRows kNone;
  const auto found = tables_.find(table);
  return found == tables_.end() ? kNone : found->second;
}

bool LatestTables::Read(TableId table, const KeyRange& range, bool reverse, size_t limit,
                        LatestCopy* copy) const {
  copy->rows_.clear();
  copy->arena_.Reset();
  if (IsEmpty(range)) return false;
  const std::shared_lock lock(mutex_);
  const LatestRows& rows = Of(table);
  LatestRows::Place begin = rows.BeginOf(range);
  LatestRows::Place end = rows.EndOf(range);
  for (size_t bytes = 0; begin != end;) {
    if (copy->rows_.size() >= limit || bytes >= kCopiedBytes) return true;
    if (reverse) end = rows.Previous(end);
    const StoredRow& row = rows.At(reverse ? end : begin);
    if (!reverse) begin = rows.Next(begin);
    bytes += row.key().size() + row.value().size();
    copy->rows_.emplace_back(copy->arena_.Copy(row.key()), copy->arena_.Copy(row.value()));
  }
  return false;
}

std::string LatestTables::Get(TableId table, std::string_view key) const {
  const std::shared_lock lock(mutex_);
  const StoredRowPtr* const row = Of(table).Find(key);
  return row == nullptr ? std::string() : std::string((*row)->value());
}

size_t LatestTables::SizeOf(const LatestKey& row) const {
  const std::shared_lock lock(mutex_);
  const StoredRowPtr* const stored = Find(row);
  return stored == nullptr ? 0 : (*stored)->value().size();
}

uint64_t LatestTables::Count(TableId table, const KeyRange& range) const {
  if (IsEmpty(range)) return 0;
  uint64_t count = 0;
  for (std::string from = range.start;;) {
    const std::shared_lock lock(mutex_);
    const LatestRows& rows = Of(table);
    const LatestRows::Place begin = rows.LowerBound(from);
    const LatestRows::Place end = rows.EndOf(range);
    if (end.chunk - begin.chunk <= kCountedChunks) return count + rows.Distance(begin, end);
    const LatestRows::Place next{begin.chunk + kCountedChunks, 0};
    count += rows.Distance(begin, next);
    from = rows.At(next).key();
  }
}

uint64_t LatestTables::RowsOf(TableId table) const {
  const std::shared_lock lock(mutex_);
  return Of(table).size();
}

StoredRowPtr* LatestTables::Find(const LatestKey& row) const { return Of(row.table).Find(row.key); }

// What is replaced is replaced first: slots are not good for longer.
void LatestTables::Publish(LatestChanges* changes, const LatestTimes& oldest) {
  const std::unique_lock lock(mutex_);
  for (auto& [key, change] : *changes) {
    if (change.changed && change.row && change.stored != nullptr) {
      std::swap(*change.stored, change.row);
    }
  }
  for (auto& [key, change] : *changes) {
    if (!change.changed) continue;
    if (change.stored == nullptr && change.row) {
      tables_[key.table].Put(std::move(change.row));
    } else if (change.stored != nullptr && !change.row) {
      change.row = tables_[key.table].Erase(key.key);
    }
  }
  for (const auto& [table, time] : oldest) {
    TimeUs& known = oldest_.try_emplace(table, time).first->second;
    known = std::min(known, time);
  }
}

void LatestTables::Replace(Rows rows) {
  const std::unique_lock lock(mutex_);
  tables_.swap(rows);
  oldest_.clear();
  for (const auto& [table, of_table] : tables_) oldest_[table] = 0;  // Nobody has looked.
}

void LatestTables::Keep(const std::function<bool(TableId)>& keep) {
  const std::unique_lock lock(mutex_);
  std::erase_if(tables_, [&](const auto& table) { return !keep(table.first); });
}

LatestRows LatestTables::TakeOut(TableId table) {
  const std::unique_lock lock(mutex_);
  oldest_.erase(table);
  auto taken = tables_.extract(table);
  return taken ? std::move(taken.mapped()) : LatestRows();
}

std::vector<TableId> LatestTables::Tables() const {
  const std::shared_lock lock(mutex_);
  std::vector<TableId> tables;
  for (const auto& [table, rows] : tables_) tables.push_back(table);
  return tables;
}

TimeUs LatestTables::TakeOldest(TableId table) {
  const std::unique_lock lock(mutex_);
  const auto taken = oldest_.extract(table);
  return taken ? taken.mapped() : std::numeric_limits<TimeUs>::max();
}

}  // namespace tallyd

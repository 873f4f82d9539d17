#include "storage/leveldb/latest/latest_tables.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kCopiedBytes = 256u << 10;
// Of a table of a million rows all that there are; of larger ones the lock is let go in between.
constexpr size_t kCountedChunks = 8192;

using To = LatestChange::To;

bool IsEmpty(const KeyRange& range) { return !range.end.empty() && range.start >= range.end; }

}  // namespace

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
  const bool more = CopyRows(table, range, reverse, limit, copy);
  FoldRows(table, copy);
  return more;
}

bool LatestTables::CopyRows(TableId table, const KeyRange& range, bool reverse, size_t limit,
                            LatestCopy* copy) const {
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

// When no lock is held any more.
void LatestTables::FoldRows(TableId table, LatestCopy* copy) const {
  for (auto& [key, row] : copy->rows_) {
    if (!IsOpen(row)) continue;
    if (!copy->fold_) copy->fold_ = std::make_unique<LayerFold>(sets_);
    row = copy->arena_.Copy(copy->fold_->FoldHeld(table, row, {}));
  }
}

std::string LatestTables::Get(TableId table, std::string_view key) const {
  std::string held;
  {
    const std::shared_lock lock(mutex_);
    const StoredRow* const row = Of(table).Find(key);
    if (row != nullptr) held = row->value();
  }
  if (!IsOpen(held)) return held;
  LayerFold fold(sets_);
  return std::string(fold.FoldHeld(table, held, {}));
}

size_t LatestTables::SizeOf(const LatestKey& row) const {
  const std::shared_lock lock(mutex_);
  const StoredRow* const stored = Find(row);
  return stored == nullptr ? 0 : stored->value().size();
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

void LatestTables::Publish(LatestChanges* changes, const LatestTimes& oldest) {
  for (LatestChange& change : *changes) {
    if (change.to != To::kLayer || change.HasRoom(LatestSize(change.layer))) continue;
    change.row = StoredRow::Make(change.key.key, change.layer);
    change.to = To::kRow;
  }
  const std::unique_lock lock(mutex_);
  for (LatestChange& change : *changes) Publish(&change);
  for (const auto& [table, time] : oldest) {
    TimeUs& known = oldest_.try_emplace(table, time).first->second;
    known = std::min(known, time);
  }
}

void LatestTables::Publish(LatestChange* change) {
  switch (change->to) {
    case To::kAsItWas:
      return;
    case To::kGone:
      if (change->stored != nullptr)
        change->row = tables_[change->key.table].Erase(change->key.key);
      return;
    case To::kLayer:
      return change->stored->Set(change->layer);
    case To::kAdded:
      return change->stored->Append(*change->added);
    case To::kRow:
      // An open row brings room with it.
      if (!IsOpen(change->row->value()) && change->HasRoom(change->row->value().size())) {
        return change->stored->Set(change->row->value());
      }
      change->row = tables_[change->key.table].Put(std::move(change->row));
      return;
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

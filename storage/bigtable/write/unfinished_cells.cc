#include "storage/bigtable/write/unfinished_cells.h"

#include <xxhash.h>

#include <algorithm>

#include "storage/bytes/coding.h"

namespace tallyd {

// What is folded goes in any order.
UnfinishedCells::Cells UnfinishedCells::CellsOf(const BigtableBatch& batch) {
  Cells cells;
  std::string place;
  for (const BigtableBatch::Entry& row : batch.steps().front().rows) {
    if (row.is_checked()) {  // An event takes the place of the whole row.
      place.clear();
      PutU32(&place, row.table->info.id);
      PutString(&place, row.entry.row_key());
      PutU64(&place, static_cast<uint64_t>(row.time));
      std::string event;
      for (const auto& mutation : row.entry.mutations()) {
        PutString(&event, mutation.SerializeAsString());
      }
      cells.emplace_back(XXH3_64bits(place.data(), place.size()),
                         XXH3_64bits(event.data(), event.size()));
      continue;
    }
    for (const data_api::Mutation& mutation : row.entry.mutations()) {
      if (!mutation.has_set_cell()) continue;
      const data_api::Mutation::SetCell& cell = mutation.set_cell();
      place.clear();
      PutU32(&place, row.table->info.id);
      PutString(&place, row.entry.row_key());
      PutString(&place, cell.family_name());
      PutString(&place, cell.column_qualifier());
      PutU64(&place, static_cast<uint64_t>(cell.timestamp_micros()));
      cells.emplace_back(XXH3_64bits(place.data(), place.size()),
                         XXH3_64bits(cell.value().data(), cell.value().size()));
    }
  }
  return cells;
}

void UnfinishedCells::Add(const std::string& journal_key, const BigtableBatch& batch) {
  Cells cells = CellsOf(batch);
  const std::lock_guard lock(mutex_);
  if (batches_.contains(journal_key)) return;
  for (const auto& [place, value] : cells) ++values_[place][value];
  cells_ += cells.size();
  batches_.emplace(journal_key, std::move(cells));
}

void UnfinishedCells::Remove(const std::string& journal_key) {
  const std::lock_guard lock(mutex_);
  const auto batch = batches_.find(journal_key);
  if (batch == batches_.end()) return;
  for (const auto& [place, value] : batch->second) {
    const auto known = values_.find(place);
    if (--known->second[value] == 0) known->second.erase(value);
    if (known->second.empty()) values_.erase(known);
  }
  cells_ -= batch->second.size();
  batches_.erase(batch);
}

std::vector<std::string> UnfinishedCells::Keys() const {
  std::vector<std::string> keys;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, cells] : batches_) keys.push_back(key);
  return keys;
}

bool UnfinishedCells::Contradicts(const BigtableBatch& batch) const {
  if (cells_ == 0 || batch.has_deletes()) return false;
  const Cells cells = CellsOf(batch);
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(cells, [&](const auto& cell) {
    const auto known = values_.find(cell.first);
    if (known == values_.end()) return false;
    return known->second.size() > 1 || !known->second.contains(cell.second);
  });
}

}  // namespace tallyd

#include "storage/leveldb/catalogue/delete_ranges.h"

namespace tallyd {

DeleteRange::DeleteRange(TableId table_id, uint64_t number, DeleteSpec spec)
    : table(table_id), sequence(number), what(std::move(spec)) {}

DeleteList DeleteRanges::Of(TableId table) const {
  const std::lock_guard lock(mutex_);
  DeleteList list;
  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
    if (range->second->table == table) list.push_back(range->second);
  }
  return list;
}

DeleteList DeleteRanges::All() const {
  const std::lock_guard lock(mutex_);
  DeleteList list;
  for (const auto& [sequence, range] : ranges_) list.push_back(range);
  return list;
}

size_t DeleteRanges::size() const {
  const std::lock_guard lock(mutex_);
  return ranges_.size();
}

uint64_t DeleteRanges::last() const {
  const std::lock_guard lock(mutex_);
  return ranges_.empty() ? 0 : ranges_.rbegin()->first;
}

void DeleteRanges::Publish(const DeleteList& added) {
  const std::lock_guard lock(mutex_);
  for (const auto& range : added) ranges_[range->sequence] = range;
}

void DeleteRanges::Remove(const DeleteRange& range) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(range.sequence);
}

void DeleteRanges::Replace(DeleteList ranges) {
  const std::lock_guard lock(mutex_);
  ranges_.clear();
  for (const auto& range : ranges) ranges_[range->sequence] = range;
}

}  // namespace tallyd

// ColumnLists: which columns each entry of a block has, on its way into the block. What one entry
// has is a list of columns; entries of equal lists share one, as far as lists are few. A block
// holds them as shapes or, where that is smaller, as the presence of each column
// (storage/FORMAT.md, Blocks). Its buffers are kept from block to block. Not thread-safe.
#ifndef TALLYD_STORAGE_BLOCKS_COLUMN_LISTS_H_
#define TALLYD_STORAGE_BLOCKS_COLUMN_LISTS_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/blocks/presence.h"

namespace tallyd {

class ColumnLists {
 public:
  // So many lists are told apart. Where there are more and columns are many, too, neither form is
  // small any more.
  static constexpr size_t kManyLists = 256;

  void Clear();
  // The number of the list of these columns. The same list mostly has the same number.
  uint32_t NumberOf(std::span<const uint32_t> columns);
  // The next `count` entries have this list.
  void AddEntries(uint32_t list, size_t count) {
    of_entries_.insert(of_entries_.end(), count, list);
    cells_ += count * (*this)[list].size();
  }

  size_t size() const { return ends_.size(); }
  std::span<const uint32_t> operator[](size_t list) const {
    const size_t begin = list == 0 ? 0 : ends_[list - 1];
    return std::span(columns_).subspan(begin, ends_[list] - begin);
  }
  std::span<const int64_t> of_entries() const { return of_entries_; }  // Each one's list.
  size_t cells() const { return cells_; }

  // Whether a block of these entries and so many columns should take no more lists.
  bool AreTooMany(size_t columns) const {
    return size() >= kManyLists && columns * of_entries_.size() > kMostBitsPerCell * cells_;
  }
  // Of each of so many columns the entries that have it. A view until the next call.
  std::span<const Presence> Presences(size_t columns);
  // About how many bytes these would take; makes none of them.
  size_t PresencesBytes(size_t columns);
  // Whether they would take fewer than the lists.
  bool ArePresencesSmaller(size_t columns);

 private:
  // Of columns that few entries have a bitmap says little with many bits.
  static constexpr size_t kMostBitsPerCell = 16;

  // Of a column, on a walk along the entries.
  struct Met {
    uint32_t entries = 0;
    uint32_t runs = 0;      // Of entries that have it and follow each other.
    uint32_t last = 0;      // The last entries of one list that had it, by their number.
    bool at_begin = false;  // The first entry has it: that is no change.
  };

  std::vector<uint32_t> columns_;  // Of all lists, one after the other.
  std::vector<size_t> ends_;
  boost::unordered_flat_map<uint64_t, uint32_t> numbers_;  // By hash of the columns.
  std::vector<int64_t> of_entries_;
  size_t cells_ = 0;
  std::vector<Presence> presences_;
  std::vector<Met> met_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_COLUMN_LISTS_H_

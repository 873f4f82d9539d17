#include "storage/batch_counts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kLeastSlots = 64;
constexpr size_t kManySlots = 16;  // For each put.

uint64_t HashColumn(const ColumnRef& column) {
  return XXH3_64bits_withSeed(column.qualifier.data(), column.qualifier.size(), column.family);
}

}  // namespace

void BatchCounts::Expect(size_t puts) {
  puts_.reserve(puts);
  if (slots_.size() < 2 * puts) MakeSlots(puts);
}

void BatchCounts::Clear() {
  ClearSlots();
  puts_.clear();
  rows_ = 0;
  cells_ = 0;
  are_counted_ = true;
  hashes_.clear();
  present_.clear();
}

// Where a larger batch left many, those of the puts alone: each lies in the slots that are taken
// from the one of its hash on.
void BatchCounts::ClearSlots() {
  if (slots_.size() <= kManySlots * puts_.size()) {
    std::ranges::fill(slots_, Slot());
    return;
  }
  for (const Put& put : puts_) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = put.hash.low & mask; slots_[at].put != 0; at = (at + 1) & mask) {
      slots_[at] = Slot();
    }
  }
}

void BatchCounts::Add(const TableInfo& table, std::string_view row_key, TimeUs time,
                      const ColumnSet& set, std::span<const Value> values) {
  size_t absent = 0;
  for (const Value& value : values) absent += value.is_null() ? 1 : 0;
  if (absent == values.size()) return;
  Put& put = NewPut(table, row_key, time);
  put.cells = static_cast<uint32_t>(values.size() - absent);
  put.set = &set;
  put.first = absent == 0 ? kWhole : present_.size();
  if (absent > 0) NotePresent(values);
  CountPut();
}

void BatchCounts::NotePresent(std::span<const Value> values) {
  for (size_t begin = 0; begin < values.size(); begin += 64) {
    const std::span<const Value> some =
        values.subspan(begin, std::min<size_t>(64, values.size() - begin));
    uint64_t present = 0;
    for (size_t i = 0; i < some.size(); ++i) present |= uint64_t{!some[i].is_null()} << i;
    present_.push_back(present);
  }
}

void BatchCounts::Add(const TableInfo& table, std::string_view row_key, TimeUs time,
                      std::span<const ColumnRef> columns, std::span<const Value> values) {
  const size_t first = hashes_.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_null()) hashes_.push_back(HashColumn(columns[i]));
  }
  if (hashes_.size() == first) return;  // No cell, so no row either.
  Put& put = NewPut(table, row_key, time);
  put.cells = static_cast<uint32_t>(hashes_.size() - first);
  put.first = first;
  CountPut();
}

// Most rows come once, or time after time, or again with all columns of their set.
void BatchCounts::CountPut() {
  const Put& put = puts_.back();
  Put& first = puts_[put.row];
  if (&put == &first) {
    first.newest = put.time;
    cells_ += put.cells;
  } else if (put.mode != TableMode::kHistory) {
    const bool same = put.set != nullptr && put.set == first.set && put.first == kWhole;
    are_counted_ = are_counted_ && same && first.first == kWhole;
  } else if (put.time > first.newest) {
    first.newest = put.time;
    cells_ += put.cells;
  } else {
    are_counted_ = false;
  }
}

BatchCounts::Put& BatchCounts::NewPut(const TableInfo& table, std::string_view row_key,
                                      TimeUs time) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(row_key.data(), row_key.size(), table.id);
  Put& put = puts_.emplace_back();
  put.hash = {hash.low64, hash.high64};
  put.time = time;
  put.mode = table.mode;
  put.row = RowOf(put.hash);
  return put;
}

// REQUIRES: the put with that hash is the last one.
uint32_t BatchCounts::RowOf(const RowHash& hash) {
  if (slots_.size() < 2 * (rows_ + 1)) MakeSlots(2 * (rows_ + 1));
  const size_t mask = slots_.size() - 1;
  const auto high_bits = static_cast<uint32_t>(hash.low >> 32);
  for (size_t at = hash.low & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.put == 0) {
      slot = {high_bits, static_cast<uint32_t>(puts_.size())};
      ++rows_;
      return slot.put - 1;
    }
    if (slot.high_bits == high_bits && puts_[slot.put - 1].hash == hash) return slot.put - 1;
  }
}

// REQUIRES: `rows` is not less than there are. A put that is being added is in none.
void BatchCounts::MakeSlots(size_t rows) {
  const size_t size = std::bit_ceil(std::max(2 * rows, kLeastSlots));
  const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(size));
  for (const Slot& slot : before) {
    if (slot.put == 0) continue;
    size_t at = puts_[slot.put - 1].hash.low & (size - 1);
    while (slots_[at].put != 0) at = (at + 1) & (size - 1);
    slots_[at] = slot;
  }
}

// All puts are of one row, in the order of the batch; of a history table also of one time.
uint64_t BatchCounts::CountGroup(std::span<const Put* const> puts) const {
  if (puts.size() == 1) return puts[0]->cells;
  if (puts[0]->mode == TableMode::kLatestRow) {
    const Put* newest = puts[0];
    for (const Put* put : puts) {
      if (put->time >= newest->time) newest = put;
    }
    return newest->cells;
  }
  const ColumnSet* set = puts[0]->set;
  if (set && std::all_of(puts.begin(), puts.end(), [&](const Put* p) { return p->set == set; })) {
    return CountOfSet(puts);
  }
  std::vector<uint64_t> distinct;
  for (const Put* put : puts) {
    if (put->set) {
      for (size_t i = 0; i < put->set->columns.size(); ++i) {
        if (HasColumn(*put, i)) distinct.push_back(HashColumn(put->set->columns[i].ref()));
      }
    } else {
      const auto first = hashes_.begin() + static_cast<std::ptrdiff_t>(put->first);
      distinct.insert(distinct.end(), first, first + static_cast<std::ptrdiff_t>(put->cells));
    }
  }
  std::sort(distinct.begin(), distinct.end());
  const auto end = std::unique(distinct.begin(), distinct.end());
  return static_cast<uint64_t>(end - distinct.begin());
}

// All are of one set.
uint64_t BatchCounts::CountOfSet(std::span<const Put* const> puts) const {
  const auto whole = std::ranges::find(puts, kWhole, &Put::first);
  if (whole != puts.end()) return (*whole)->cells;
  uint64_t cells = 0;
  for (size_t word = 0; word < (puts[0]->set->columns.size() + 63) / 64; ++word) {
    uint64_t any = 0;
    for (const Put* put : puts) any |= present_[put->first + word];
    cells += static_cast<uint64_t>(std::popcount(any));
  }
  return cells;
}

uint64_t BatchCounts::CountCells() const {
  uint64_t total = 0;
  std::vector<const Put*> sorted;
  for (const Put& put : puts_) sorted.push_back(&put);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Put* a, const Put* b) {
    if (a->row != b->row) return a->row < b->row;
    return a->mode == TableMode::kHistory && a->time < b->time;
  });
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (
        end < sorted.size() && sorted[end]->row == sorted[begin]->row &&
        (sorted[begin]->mode != TableMode::kHistory || sorted[end]->time == sorted[begin]->time)) {
      ++end;
    }
    total += CountGroup(std::span(sorted).subspan(begin, end - begin));
    begin = end;
  }
  return total;
}

}  // namespace tallyd

#include "storage/blocks/column_lists.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace tallyd {
namespace {

// Blocks of many columns must not keep the buffers of all that ever occurred.
constexpr size_t kKeptPresences = 1024;
// What a list takes for each of its columns, about, and an entry whose list is not that of the one
// before it.
constexpr size_t kBytesPerColumn = 1;
constexpr size_t kBytesPerChange = 3;

}  // namespace

void ColumnLists::Clear() {
  columns_.clear();
  ends_.clear();
  numbers_.clear();
  of_entries_.clear();
  cells_ = 0;
  if (presences_.size() > kKeptPresences) presences_.resize(kKeptPresences);
}

uint32_t ColumnLists::NumberOf(std::span<const uint32_t> columns) {
  const auto next = static_cast<uint32_t>(size());
  if (next > 0 && std::ranges::equal((*this)[next - 1], columns)) return next - 1;
  if (next < kManyLists) {
    const uint64_t hash = XXH3_64bits(columns.data(), columns.size_bytes());
    const auto [place, is_new] = numbers_.try_emplace(hash, next);
    // Of two that have one hash the second is told apart from nothing, which harms nobody.
    if (!is_new && std::ranges::equal((*this)[place->second], columns)) return place->second;
  }
  columns_.insert(columns_.end(), columns.begin(), columns.end());
  ends_.push_back(columns_.size());
  return next;
}

std::span<const Presence> ColumnLists::Presences(size_t columns) {
  if (presences_.size() < columns) presences_.resize(columns);
  const std::span<Presence> all = std::span(presences_).first(columns);
  const auto entries = static_cast<uint32_t>(of_entries_.size());
  for (Presence& presence : all) presence.Reset(entries);
  for (uint32_t entry = 0; entry < entries; ++entry) {
    for (const uint32_t column : (*this)[static_cast<size_t>(of_entries_[entry])]) {
      all[column].Set(entry);
    }
  }
  for (Presence& presence : all) presence.Count();
  return all;
}

size_t ColumnLists::PresencesBytes(size_t columns) {
  met_.assign(columns, {});
  const auto entries = static_cast<uint32_t>(of_entries_.size());
  uint32_t number = 0;
  for (uint32_t begin = 0, end = 0; begin < entries; begin = end) {
    const int64_t list = of_entries_[begin];
    while (end < entries && of_entries_[end] == list) ++end;
    ++number;
    for (const uint32_t column : (*this)[static_cast<size_t>(list)]) {
      Met& met = met_[column];
      met.entries += end - begin;
      if (met.runs == 0 || met.last + 1 != number) ++met.runs;
      met.last = number;
      met.at_begin = met.at_begin || begin == 0;
    }
  }
  size_t bytes = 0;
  for (const Met& met : met_) {
    const uint32_t changes = 2 * met.runs - (met.at_begin ? 1 : 0);
    bytes += PresenceBytes(entries, met.entries, changes);
  }
  return bytes;
}

bool ColumnLists::ArePresencesSmaller(size_t columns) {
  size_t changes = 0;
  for (size_t i = 1; i < of_entries_.size(); ++i) changes += of_entries_[i] != of_entries_[i - 1];
  const size_t bits = static_cast<size_t>(std::bit_width(size() - 1)) * of_entries_.size();
  const size_t as_lists =
      columns_.size() * kBytesPerColumn + std::min(bits / 8, changes * kBytesPerChange);
  // Where many entries have lists of their own, no walk along them is needed.
  const auto entries = static_cast<uint32_t>(of_entries_.size());
  if (columns * PresenceBytes(entries, 0, entries) < as_lists) return true;
  return PresencesBytes(columns) < as_lists;
}

}  // namespace tallyd

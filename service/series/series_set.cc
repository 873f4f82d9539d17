#include "service/series/series_set.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <random>
#include <utility>

namespace tallyd {
namespace {

// Nobody outside knows which texts have one hash.
uint64_t Seed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

uint64_t HashOf(std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), Seed());
}

uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

constexpr size_t kFewestSlots = 64;

bool IsFull(size_t taken, size_t slots) { return 4 * (taken + 1) > 3 * slots; }

}  // namespace

uint64_t TermOf(std::string_view field, std::string_view value) {
  return XXH3_64bits_withSeed(value.data(), value.size(), HashOf(field));
}

std::optional<SeriesSet::Id> SeriesSet::Find(std::string_view series) const {
  if (slots_.empty()) return std::nullopt;
  const Slot* const slot = const_cast<SeriesSet*>(this)->SlotOf(series, HashOf(series));
  if (slot->id == kNone || !entries_[slot->id].live) return std::nullopt;
  return slot->id;
}

// That of the series, gone or not, or the free one where it would be. REQUIRES: there are slots.
SeriesSet::Slot* SeriesSet::SlotOf(std::string_view series, uint64_t hash) {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.id == kNone || (slot.tag == TagOf(hash) && text(slot.id) == series)) return &slot;
  }
}

SeriesSet::Id SeriesSet::Add(std::string_view series, std::span<const uint64_t> terms) {
  assert(series.size() <= UINT16_MAX);
  if (IsFull(entries_.size(), slots_.size())) GrowSlots();
  const uint64_t hash = HashOf(series);
  Slot* const slot = SlotOf(series, hash);
  ++live_;
  if (slot->id != kNone) {
    assert(!entries_[slot->id].live);
    entries_[slot->id].live = true;
    return slot->id;
  }
  if (used_ + series.size() > kChunkBytes) {
    chunks_.push_back(std::make_unique<char[]>(kChunkBytes));
    used_ = 0;
  }
  std::memcpy(chunks_.back().get() + used_, series.data(), series.size());
  const auto id = static_cast<Id>(entries_.size());
  entries_.push_back({static_cast<uint32_t>(chunks_.size() - 1), static_cast<uint32_t>(used_),
                      static_cast<uint16_t>(series.size()), true});
  used_ += series.size();
  *slot = {TagOf(hash), id};
  for (const uint64_t term : terms) AddTerm(term, id);
  return id;
}

void SeriesSet::Remove(Id id) {
  assert(entries_[id].live);
  entries_[id].live = false;
  --live_;
}

void SeriesSet::GrowSlots() {
  const std::vector<Slot> before =
      std::exchange(slots_, std::vector<Slot>(std::max(kFewestSlots, 2 * slots_.size())));
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.id == kNone) continue;
    size_t at = HashOf(text(slot.id)) & mask;
    while (slots_[at].id != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void SeriesSet::AddTerm(uint64_t term, Id id) {
  if (IsFull(terms_taken_, terms_.size())) GrowTerms();
  const size_t mask = terms_.size() - 1;
  size_t at = term & mask;
  while (terms_[at].at != kNone && terms_[at].term != term) at = (at + 1) & mask;
  TermSlot& slot = terms_[at];
  if (slot.at == kNone) {
    slot = {term, id, false};
    ++terms_taken_;
  } else if (slot.is_list) {
    lists_[slot.at].push_back(id);
  } else {
    lists_.push_back({slot.at, id});
    slot.at = static_cast<Id>(lists_.size() - 1);
    slot.is_list = true;
  }
}

void SeriesSet::GrowTerms() {
  const std::vector<TermSlot> before =
      std::exchange(terms_, std::vector<TermSlot>(std::max(kFewestSlots, 2 * terms_.size())));
  const size_t mask = terms_.size() - 1;
  for (const TermSlot& slot : before) {
    if (slot.at == kNone) continue;
    size_t at = slot.term & mask;
    while (terms_[at].at != kNone) at = (at + 1) & mask;
    terms_[at] = slot;
  }
}

std::span<const SeriesSet::Id> SeriesSet::With(uint64_t term) const {
  if (terms_.empty()) return {};
  const size_t mask = terms_.size() - 1;
  for (size_t at = term & mask; terms_[at].at != kNone; at = (at + 1) & mask) {
    const TermSlot& slot = terms_[at];
    if (slot.term != term) continue;
    return slot.is_list ? std::span<const Id>(lists_[slot.at]) : std::span(&slot.at, 1);
  }
  return {};
}

size_t SeriesSet::bytes() const {
  size_t bytes = chunks_.size() * kChunkBytes + entries_.capacity() * sizeof(Entry) +
                 slots_.capacity() * sizeof(Slot) + terms_.capacity() * sizeof(TermSlot) +
                 lists_.capacity() * sizeof(lists_.front());
  for (const std::vector<Id>& list : lists_) bytes += list.capacity() * sizeof(Id);
  return bytes;
}

}  // namespace tallyd

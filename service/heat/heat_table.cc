#include "service/heat/heat_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "config/schema/key_ranges.h"
#include "config/values/prefetch.h"
#include "storage/big_endian_head.h"

namespace tallyd {
namespace {

constexpr size_t kAtOnce = 16;
// Enough to tell a share of a thousandth.
constexpr size_t kSamples = 8 * kMaxHeatRanges;

// Of each the first that is not less, without a branch that is guessed wrong; side by side, as a
// step waits for the one before it. REQUIRES: something is sorted, and at most kAtOnce are sought.
void LowerBounds(const std::vector<uint64_t>& sorted, std::span<const uint64_t> sought,
                 std::span<size_t> found) {
  std::array<const uint64_t*, kAtOnce> bases;
  bases.fill(sorted.data());
  for (size_t left = sorted.size(); left > 1;) {
    const size_t half = left / 2;
    for (size_t i = 0; i < sought.size(); ++i) {
      bases[i] += half & -size_t{bases[i][half - 1] < sought[i]};
    }
    left -= half;
  }
  for (size_t i = 0; i < sought.size(); ++i) {
    found[i] = static_cast<size_t>(bases[i] - sorted.data()) + (*bases[i] < sought[i] ? 1 : 0);
  }
}

size_t CommonSize(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t size = 0;
  while (size < most && a[size] == b[size]) ++size;
  return size;
}

std::string EndOf(std::string_view stem, bool is_whole) {
  return is_whole ? std::string(stem) + '\0' : PrefixRange(stem).end;
}

uint64_t HashOf(std::string_view stem) { return XXH3_64bits(stem.data(), stem.size()); }

}  // namespace

void HeatTable::Add(const RowStems::OfTable& touched, int64_t minute) {
  const std::lock_guard lock(mutex_);
  if (minute != minute_) CloseMinute();
  minute_ = minute;
  changed_ = true;
  size_t next = 0;
  for (; next < touched.entries.size() && !is_partition_; ++next) {
    const RowStems::Entry& entry = touched.entries[next];
    Slot* const slot = Find(touched.StemOf(entry), entry.rows.is_whole);
    if (slot == nullptr) break;
    slot->Count(entry.rows);
  }
  while (next < touched.entries.size()) {
    const auto some =
        std::span(touched.entries).subspan(next, std::min(kAtOnce, touched.entries.size() - next));
    AddToPartition(touched, some);
    next += some.size();
  }
}

// What is known of them, and what they count in, is fetched from memory before.
void HeatTable::AddToPartition(const RowStems::OfTable& touched,
                               std::span<const RowStems::Entry> some) {
  std::array<Sought, kAtOnce> sought;
  std::array<Sought*, kAtOnce> unknown;
  size_t unknowns = 0;
  Sample(touched, some);
  for (size_t i = 0; i < some.size(); ++i) {
    sought[i].stem = touched.StemOf(some[i]);
    sought[i].hash = HashOf(sought[i].stem);
    Prefetch(&found_[sought[i].hash % kFoundSlots]);
  }
  for (size_t i = 0; i < some.size(); ++i) {
    if (!FindKnown(&sought[i])) unknown[unknowns++] = &sought[i];
  }
  if (unknowns > 0) Search(std::span(unknown).first(unknowns));
  for (size_t i = 0; i < some.size(); ++i) Prefetch(&slots_[sought[i].number].newest);
  for (size_t i = 0; i < some.size(); ++i) slots_[sought[i].number].Count(some[i].rows);
}

HeatTable::Slot* HeatTable::Find(std::string_view stem, bool is_whole) {
  uint64_t hash = HashOf(stem);
  // Whoever chooses stems may choose two of one hash: the second counts under the next free one.
  for (auto found = numbers_.find(hash); found != numbers_.end(); found = numbers_.find(++hash)) {
    Slot& slot = slots_[found->second];
    if (slot.stem == stem) return &slot;
  }
  if (slots_.size() == kMaxHeatRanges) {
    MakePartition();
    return nullptr;
  }
  numbers_.emplace(hash, static_cast<uint32_t>(slots_.size()));
  return &slots_.emplace_back(Slot{std::string(stem), is_whole, 0, 0, 0});
}

void HeatTable::MakePartition() {
  is_partition_ = true;
  found_.assign(kFoundSlots, {});
  numbers_.clear();
  order_.resize(slots_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(),
            [&](uint32_t a, uint32_t b) { return slots_[a].stem < slots_[b].stem; });
  const std::string& first = slots_[order_.front()].stem;
  common_ = first.substr(0, CommonSize(first, slots_[order_.back()].stem));
  heads_.clear();
  for (const uint32_t number : order_) heads_.push_back(HeadOf(slots_[number].stem));
}

uint64_t HeatTable::HeadOf(std::string_view stem) const {
  return BigEndianHead(stem.substr(std::min(common_.size(), stem.size())));
}

bool HeatTable::FindKnown(Sought* sought) {
  FoundPair& pair = found_[sought->hash % kFoundSlots];
  const uint64_t known = sought->hash / kFoundSlots * kFoundSlots;
  const auto is_known = [known](Found found) {
    return found / kFoundSlots * kFoundSlots == known && found % kFoundSlots != 0;
  };
  if (!is_known(pair.first)) {
    if (!is_known(pair.second)) return false;
    std::swap(pair.first, pair.second);
  }
  sought->number = static_cast<uint32_t>(pair.first % kFoundSlots - 1);
  return true;
}

// The last range that starts at the stem or before; the first one begins with the table. Where no
// range has its head, the heads tell which.
void HeatTable::Search(std::span<Sought* const> some) {
  std::array<uint64_t, kAtOnce> heads;
  std::array<size_t, kAtOnce> bounds;
  for (size_t i = 0; i < some.size(); ++i) heads[i] = HeadOf(some[i]->stem);
  LowerBounds(heads_, std::span(heads).first(some.size()), bounds);
  for (size_t i = 0; i < some.size(); ++i) {
    Sought& sought = *some[i];
    size_t begin = 0;
    size_t end = heads_.size();
    if (sought.stem.starts_with(common_)) {
      begin = end = bounds[i];
      while (end < heads_.size() && heads_[end] == heads[i]) ++end;
    }
    const auto behind = std::upper_bound(
        order_.begin() + static_cast<std::ptrdiff_t>(begin),
        order_.begin() + static_cast<std::ptrdiff_t>(end), sought.stem,
        [&](std::string_view stem, uint32_t number) { return stem < slots_[number].stem; });
    sought.number = behind == order_.begin() ? order_.front() : *(behind - 1);
    FoundPair& pair = found_[sought.hash % kFoundSlots];
    const Found found = sought.hash / kFoundSlots * kFoundSlots | (sought.number + 1);
    if (pair.first != found) pair = {found, pair.first};
  }
}

// Each stem is among the samples about as likely as any other: of n that came, every
// n / kSamples-th takes the place of another.
void HeatTable::Sample(const RowStems::OfTable& touched, std::span<const RowStems::Entry> some) {
  while (!some.empty()) {
    if (samples_.size() < kSamples) {
      samples_.emplace_back(touched.StemOf(some.front()));
      ++sampled_of_;
      some = some.subspan(1);
      continue;
    }
    const size_t passed = std::min<uint64_t>(until_sample_, some.size());
    sampled_of_ += passed;
    until_sample_ -= passed;
    if (until_sample_ > 0) return;
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    samples_[(random_ >> 48) % kSamples].assign(touched.StemOf(some[passed - 1]));
    until_sample_ = 1 + (random_ >> 16) % (2 * sampled_of_ / kSamples);
    some = some.subspan(passed);
  }
}

void HeatTable::CloseMinute() {
  HeatMinute minute;
  minute.minute = minute_;
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    if (slot.rows > 0) minute.cells.push_back({number, slot.rows, slot.at_end});
    slot.rows = 0;
    slot.at_end = 0;
  }
  if (!minute.cells.empty()) minutes_.push_back(std::move(minute));
}

HeatChunk HeatTable::ChunkLocked() const {
  HeatChunk chunk;
  chunk.is_partition = is_partition_;
  chunk.minutes = minutes_;
  HeatMinute running;
  running.minute = minute_;
  for (const Slot& slot : slots_) {
    const auto number = static_cast<uint32_t>(chunk.ranges.size());
    chunk.ranges.push_back({slot.stem, EndOf(slot.stem, slot.is_whole)});
    if (slot.rows > 0) running.cells.push_back({number, slot.rows, slot.at_end});
  }
  if (!running.cells.empty()) chunk.minutes.push_back(std::move(running));
  if (is_partition_) {
    for (size_t i = 0; i < order_.size(); ++i) {
      const bool is_last = i + 1 == order_.size();
      chunk.ranges[order_[i]].end = is_last ? std::string() : slots_[order_[i + 1]].stem;
    }
    chunk.ranges[order_.front()].start.clear();
  }
  Coarsen(&chunk, kMaxHeatRanges);
  return chunk;
}

HeatChunk HeatTable::Chunk() const {
  const std::lock_guard lock(mutex_);
  return ChunkLocked();
}

bool HeatTable::TakeChanged() {
  const std::lock_guard lock(mutex_);
  return std::exchange(changed_, false);
}

void HeatTable::MarkChanged() {
  const std::lock_guard lock(mutex_);
  changed_ = true;
}

HeatChunk HeatTable::Roll() {
  const std::lock_guard lock(mutex_);
  HeatChunk chunk = ChunkLocked();
  minutes_.clear();
  changed_ = false;
  if (is_partition_) {
    CutByLoad();
  } else {
    numbers_.clear();
    slots_.clear();
  }
  return chunk;
}

// Few samples say nothing of a thousand ranges: then these stay.
void HeatTable::CutByLoad() {
  for (Slot& slot : slots_) slot.rows = slot.at_end = 0;
  std::vector<std::string> samples = std::exchange(samples_, {});
  sampled_of_ = 0;
  until_sample_ = 1;
  if (samples.size() < kSamples) return;
  std::sort(samples.begin(), samples.end());
  const size_t share = kSamples / kMaxHeatRanges * 2;
  std::vector<Slot> cut;
  size_t taken = share;  // By the range that is being filled.
  for (size_t begin = 0; begin < samples.size();) {
    const auto end =
        static_cast<size_t>(std::upper_bound(samples.begin() + static_cast<ptrdiff_t>(begin),
                                             samples.end(), samples[begin]) -
                            samples.begin());
    const bool is_heavy = end - begin >= share;
    if (taken >= share || is_heavy) {
      cut.push_back({samples[begin], false, 0, 0, 0});
      taken = 0;
    }
    taken += end - begin;
    // What takes a share alone has no other in its range.
    const std::string behind = is_heavy ? EndOf(samples[begin], false) : std::string();
    if (!behind.empty() && (end == samples.size() || samples[end] != behind)) {
      cut.push_back({behind, false, 0, 0, 0});
      taken = 0;
    }
    begin = end;
  }
  slots_ = std::move(cut);
  MakePartition();
}

}  // namespace tallyd

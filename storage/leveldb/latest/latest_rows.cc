#include "storage/leveldb/latest/latest_rows.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <new>
#include <random>
#include <utility>

#include "config/values/prefetch.h"
#include "storage/batch.h"

namespace tallyd {
namespace {

// A chunk with fewer rows joins a neighbour if both together leave room for more.
constexpr size_t kFewRows = LatestRows::kChunkRows / 4;
constexpr size_t kJoinedRows = LatestRows::kChunkRows * 3 / 4;

// Room of an open row for layers to come, as much as it has up to this: when that is full the row
// is folded, so that up to here each layer is looked at some two times.
constexpr size_t kMostBehind = 60'000;

constexpr size_t kFetchedAhead = 16;
// Of a part of an index.
constexpr uint32_t kFewPlaces = 8;
constexpr uint32_t kSlotsBehind = 8;

uint32_t FullAt(uint32_t places) { return places - places / 4; }
uint32_t Grown(uint32_t places) { return std::max(kFewPlaces, places + places / 4); }

uint64_t RandomSeed() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

}  // namespace

void FreeStoredRow::operator()(StoredRow* row) const { ::operator delete(row); }

StoredRowPtr StoredRow::Allocate(std::string_view key, size_t value_size, size_t room_behind) {
  assert(key.size() <= std::numeric_limits<uint16_t>::max());
  assert(value_size <= std::numeric_limits<uint32_t>::max());
  const size_t used = sizeof(StoredRow) + key.size() + value_size;
  const size_t size =
      (used + room_behind + kHeapBeside + kHeapStep - 1) / kHeapStep * kHeapStep - kHeapBeside;
  StoredRowPtr row(new (::operator new(size)) StoredRow(key.size(), value_size, size - used));
  if (!key.empty()) std::memcpy(row->value_bytes() - key.size(), key.data(), key.size());
  return row;
}

StoredRowPtr StoredRow::MakeOpen(std::string_view key, const OpenRow& open) {
  const size_t size = OpenRowSize(open);
  StoredRowPtr row = Allocate(key, size, std::min(size, kMostBehind));
  EncodeOpenRow(row->value_bytes(), open);
  return row;
}

uint32_t LatestIndex::HashOf(std::string_view key) {
  static const uint64_t kSeed = RandomSeed();
  return static_cast<uint32_t>(XXH3_64bits_withSeed(key.data(), key.size(), kSeed) >> 32);
}

StoredRow* LatestIndex::FetchRow(uint32_t hash) const {
  const Part& part = PartOf(hash);
  if (part.rows == 0) return nullptr;
  const Slot* slot = &part.slots[part.PlaceOf(hash)];
  while (slot->hash < hash && slot->get() != nullptr) ++slot;
  if (slot->hash != hash) return nullptr;
  StoredRow* const row = slot->get();
  Prefetch(row);
  Prefetch(reinterpret_cast<const char*>(row) + kCacheLineBytes);
  return row;
}

void LatestIndex::Reserve(std::span<const uint32_t> hashes) {
  std::array<uint32_t, std::tuple_size_v<decltype(parts_)>> rows{};
  for (const uint32_t hash : hashes) ++rows[hash >> (32 - kPartBits)];
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] > 0) parts_[i].Resize(std::max(kFewPlaces, rows[i] + rows[i] / 2));
  }
}

void LatestIndex::Add(uint32_t hash, StoredRow* row) {
  Part& part = PartOf(hash);
  if (part.rows >= FullAt(part.places)) part.Resize(Grown(part.places));
  while (!part.Put(hash, row)) part.Resize(Grown(part.places));
}

// False: a slot would be the last one, which stays free: it ends every search.
bool LatestIndex::Part::Put(uint32_t hash, StoredRow* row) {
  Slot* at = &slots[PlaceOf(hash)];
  while (at->get() != nullptr && at->hash <= hash) ++at;
  Slot* free = at;
  while (free->get() != nullptr) ++free;
  if (free == &slots[places + kSlotsBehind - 1]) return false;
  std::move_backward(at, free, free + 1);
  at->Set(hash, row);
  ++rows;
  return true;
}

void LatestIndex::Part::Resize(uint32_t to) {
  Part next;
  for (bool fits = false; !fits; to = Grown(to)) {
    next = {std::make_unique<Slot[]>(size_t{to} + kSlotsBehind), to, 0};
    fits = true;
    const Slot* const end = slots.get() + (slots ? places + kSlotsBehind : 0);
    for (const Slot* slot = slots.get(); fits && slot != end; ++slot) {
      if (slot->get() != nullptr) fits = next.Put(slot->hash, slot->get());
    }
  }
  *this = std::move(next);
}

void LatestIndex::Replace(uint32_t hash, const StoredRow* row, StoredRow* by) {
  Part& part = PartOf(hash);
  part.slots[part.Find(hash, row)].Set(hash, by);
}

// Those behind it move up, up to the first that is where it belongs.
void LatestIndex::Erase(uint32_t hash, const StoredRow* row) {
  Part& part = PartOf(hash);
  uint32_t at = part.Find(hash, row);
  for (; part.slots[at + 1].get() != nullptr; ++at) {
    if (part.PlaceOf(part.slots[at + 1].hash) == at + 1) break;
    part.slots[at] = part.slots[at + 1];
  }
  part.slots[at] = {};
  --part.rows;
  if (part.places > kFewPlaces && part.rows < part.places / 4) part.Resize(part.places / 2);
}

// The last chunk that begins at or before the key; the first one for keys before all.
size_t LatestRows::ChunkOf(std::string_view key) const {
  const auto after = std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return chunk.rows[0]->key() <= key;
  });
  return after == chunks_.begin() ? 0 : static_cast<size_t>(after - chunks_.begin()) - 1;
}

size_t LatestRows::Search(const Chunk& chunk, std::string_view key) {
  const StoredRowPtr* const rows = chunk.rows.get();
  return static_cast<size_t>(
      std::partition_point(rows, rows + chunk.size,
                           [&](const StoredRowPtr& row) { return row->key() < key; }) -
      rows);
}

LatestRows::Place LatestRows::LowerBound(std::string_view key) const {
  if (chunks_.empty()) return end();
  const size_t chunk = ChunkOf(key);
  const size_t row = Search(chunks_[chunk], key);
  return row < chunks_[chunk].size ? Place{chunk, row} : Place{chunk + 1, 0};
}

StoredRowPtr LatestRows::Put(StoredRowPtr row) {
  const uint32_t hash = indexed_ ? LatestIndex::HashOf(row->key()) : 0;
  if (chunks_.empty()) chunks_.push_back(NewChunk());
  Place place{chunks_.size() - 1, chunks_.back().size};
  const bool is_last = place.row == 0 || chunks_.back().rows[place.row - 1]->key() < row->key();
  if (!is_last) {
    place.chunk = ChunkOf(row->key());
    place.row = Search(chunks_[place.chunk], row->key());
    StoredRowPtr* const slot = &chunks_[place.chunk].rows[place.row];
    const bool is_there = place.row < chunks_[place.chunk].size && (*slot)->key() == row->key();
    if (is_there) {
      if (indexed_) index_.Replace(hash, slot->get(), row.get());
      return std::exchange(*slot, std::move(row));
    }
  }
  if (indexed_) index_.Add(hash, row.get());
  place = MakeRoom(place);
  Chunk& chunk = chunks_[place.chunk];
  StoredRowPtr* const slot = chunk.rows.get() + place.row;
  std::move_backward(slot, chunk.rows.get() + chunk.size, chunk.rows.get() + chunk.size + 1);
  *slot = std::move(row);
  ++chunk.size;
  ++size_;
  return nullptr;
}

void LatestRows::Append(LatestRows&& behind) {
  assert(!indexed_ && !behind.indexed_);
  assert(size_ == 0 || behind.size_ == 0 || At(Previous(end())).key() < behind.At({}).key());
  size_ += std::exchange(behind.size_, 0);
  std::ranges::move(behind.chunks_, std::back_inserter(chunks_));
  behind.chunks_.clear();
}

// By then it is known how large the parts get, and nobody waits for the memory of each slot.
void LatestRows::BuildIndex() {
  std::vector<uint32_t> hashes;
  hashes.reserve(size_);
  for (Place at = begin(); at != end(); at = Next(at)) {
    hashes.push_back(LatestIndex::HashOf(At(at).key()));
  }
  index_.Reserve(hashes);
  size_t next = 0;
  for (const Chunk& chunk : chunks_) {
    for (size_t row = 0; row < chunk.size; ++row, ++next) {
      if (next + kFetchedAhead < hashes.size()) index_.FetchSlot(hashes[next + kFetchedAhead]);
      index_.Add(hashes[next], chunk.rows[row].get());
    }
  }
  indexed_ = true;
}

// Where the row goes that was to go to `place`. Rows that come in order leave full chunks behind.
LatestRows::Place LatestRows::MakeRoom(Place place) {
  const size_t full = place.chunk;
  if (chunks_[full].size < kChunkRows) return place;
  const bool at_end = full + 1 == chunks_.size() && place.row == kChunkRows;
  const size_t kept = at_end ? kChunkRows : kChunkRows / 2;
  Chunk next = NewChunk();
  Move(&chunks_[full], kept, &next);
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(full) + 1, std::move(next));
  return place.row < kept || (place.row == kept && !at_end) ? place
                                                            : Place{full + 1, place.row - kept};
}

// Appends the rows of `from` from `begin` on to those of `to`.
void LatestRows::Move(Chunk* from, size_t begin, Chunk* to) {
  std::move(from->rows.get() + begin, from->rows.get() + from->size, to->rows.get() + to->size);
  to->size += from->size - begin;
  from->size = begin;
}

StoredRowPtr LatestRows::Erase(std::string_view key) {
  const Place place = LowerBound(key);
  if (place == end() || At(place).key() != key) return nullptr;
  if (indexed_) index_.Erase(LatestIndex::HashOf(key), &At(place));
  const size_t at = place.chunk;
  Chunk& chunk = chunks_[at];
  StoredRowPtr* const slot = chunk.rows.get() + place.row;
  StoredRowPtr erased = std::move(*slot);
  std::move(slot + 1, chunk.rows.get() + chunk.size, slot);
  --chunk.size;
  --size_;
  if (chunk.size == 0) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (chunk.size < kFewRows) {
    Join(at);
  }
  return erased;
}

void LatestRows::Join(size_t chunk) {
  for (const size_t left : {chunk, chunk - 1}) {
    if (left >= chunks_.size() || left + 1 >= chunks_.size()) continue;
    Chunk& right = chunks_[left + 1];
    if (chunks_[left].size + right.size > kJoinedRows) continue;
    Move(&right, 0, &chunks_[left]);
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    return;
  }
}

LatestRows::Place LatestRows::Next(Place place) const {
  if (++place.row < chunks_[place.chunk].size) return place;
  return {place.chunk + 1, 0};
}

LatestRows::Place LatestRows::Previous(Place place) const {
  if (place.row > 0) return {place.chunk, place.row - 1};
  return {place.chunk - 1, chunks_[place.chunk - 1].size - 1};
}

uint64_t LatestRows::Distance(const Place& from, const Place& to) const {
  uint64_t rows = 0;
  for (size_t chunk = from.chunk; chunk < to.chunk; ++chunk) rows += chunks_[chunk].size;
  return rows + to.row - from.row;
}

LatestKeySet::LatestKeySet() : seed_(RandomSeed()) {}

LatestKeySet::RowHash LatestKeySet::HashOf(const LatestKey& row) const {
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(row.key.data(), row.key.size(), seed_ + row.table);
  return {hash.low64, hash.high64};
}

bool LatestKeySet::Add(const LatestKey& row) { return hashes_.insert(HashOf(row)).second; }

}  // namespace tallyd

#include "storage/leveldb/latest/latest_rows.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace tallyd {
namespace {

// A chunk with fewer rows joins a neighbour if both together leave room for more.
constexpr size_t kFewRows = LatestRows::kChunkRows / 4;
constexpr size_t kJoinedRows = LatestRows::kChunkRows * 3 / 4;

}  // namespace

void FreeStoredRow::operator()(StoredRow* row) const { ::operator delete(row); }

StoredRowPtr StoredRow::Make(std::string_view key, std::string_view value) {
  assert(key.size() <= std::numeric_limits<uint16_t>::max());
  void* const place = ::operator new(sizeof(StoredRow) + key.size() + value.size());
  StoredRowPtr row(new (place) StoredRow(key.size(), value.size()));
  char* const bytes = static_cast<char*>(place) + sizeof(StoredRow);
  if (!key.empty()) std::memcpy(bytes, key.data(), key.size());
  if (!value.empty()) std::memcpy(bytes + key.size(), value.data(), value.size());
  return row;
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

StoredRowPtr* LatestRows::Find(std::string_view key) const {
  if (chunks_.empty()) return nullptr;
  const Chunk& chunk = chunks_[ChunkOf(key)];
  const size_t row = Search(chunk, key);
  if (row == chunk.size || chunk.rows[row]->key() != key) return nullptr;
  return &chunk.rows[row];
}

StoredRowPtr LatestRows::Put(StoredRowPtr row) {
  if (chunks_.empty()) chunks_.push_back(NewChunk());
  Place place{chunks_.size() - 1, chunks_.back().size};
  const bool is_last = place.row == 0 || chunks_.back().rows[place.row - 1]->key() < row->key();
  if (!is_last) {
    place.chunk = ChunkOf(row->key());
    place.row = Search(chunks_[place.chunk], row->key());
    StoredRowPtr* const slot = &chunks_[place.chunk].rows[place.row];
    const bool is_there = place.row < chunks_[place.chunk].size && (*slot)->key() == row->key();
    if (is_there) return std::exchange(*slot, std::move(row));
  }
  place = MakeRoom(place);
  Chunk& chunk = chunks_[place.chunk];
  StoredRowPtr* const slot = chunk.rows.get() + place.row;
  std::move_backward(slot, chunk.rows.get() + chunk.size, chunk.rows.get() + chunk.size + 1);
  *slot = std::move(row);
  ++chunk.size;
  ++size_;
  return nullptr;
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
  StoredRowPtr* const slot = Find(key);
  if (slot == nullptr) return nullptr;
  const size_t at = ChunkOf(key);
  Chunk& chunk = chunks_[at];
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

}  // namespace tallyd

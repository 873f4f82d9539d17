// LatestRows: the rows of one latest table in the order of their keys, with little beside them: a
// row is one allocation, and chunks of up to 256 pointers to rows form a list, as the leaves of a
// B+ tree would. A chunk that is full is split, one that has become small joins its neighbour.
//
//   Put, Erase by key; LowerBound, then Next or Previous, to read in order.
//
// A Place is good until the next change. A slot (Find) is good until a row is added or goes; what
// lies in it may be replaced by a row of the same key. Not thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_ROWS_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_ROWS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"

namespace tallyd {

class StoredRow;
struct FreeStoredRow {
  void operator()(StoredRow* row) const;
};
using StoredRowPtr = std::unique_ptr<StoredRow, FreeStoredRow>;

// A row key and the row as LatestCodec encodes it.
class StoredRow {
 public:
  // REQUIRES: a key of at most kMaxRowKeyBytes.
  static StoredRowPtr Make(std::string_view key, std::string_view value);

  std::string_view key() const { return {bytes(), key_size()}; }
  std::string_view value() const { return {bytes() + key_size(), sizes_ & kMaxValueSize}; }

 private:
  static constexpr int kKeySizeShift = 48;
  static constexpr uint64_t kMaxValueSize = (uint64_t{1} << kKeySizeShift) - 1;

  StoredRow(size_t key_size, size_t value_size) : sizes_(key_size << kKeySizeShift | value_size) {}
  size_t key_size() const { return sizes_ >> kKeySizeShift; }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }

  const uint64_t sizes_;
};

class LatestRows {
 public:
  static constexpr size_t kChunkRows = 256;

  struct Place {
    size_t chunk = 0;
    size_t row = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  uint64_t size() const { return size_; }

  // Null if there is none.
  StoredRowPtr* Find(std::string_view key) const;
  // Adds the row, or takes the place of the one with its key, which is returned.
  StoredRowPtr Put(StoredRowPtr row);
  // Null if there was none.
  StoredRowPtr Erase(std::string_view key);

  Place begin() const { return {}; }
  Place end() const { return {chunks_.size(), 0}; }
  // The first row at or after `key`.
  Place LowerBound(std::string_view key) const;
  // From the first row of the range to behind its last one. An empty range may have begin > end.
  Place BeginOf(const KeyRange& range) const { return LowerBound(range.start); }
  Place EndOf(const KeyRange& range) const {
    return range.end.empty() ? end() : LowerBound(range.end);
  }
  // REQUIRES: not the end; for Previous, not the begin.
  const StoredRow& At(const Place& place) const { return *chunks_[place.chunk].rows[place.row]; }
  Place Next(Place place) const;
  Place Previous(Place place) const;
  // How many rows lie from one place to another, which is not before it: whole chunks are added.
  uint64_t Distance(const Place& from, const Place& to) const;

 private:
  struct Chunk {
    std::unique_ptr<StoredRowPtr[]> rows;
    size_t size = 0;
  };

  size_t ChunkOf(std::string_view key) const;
  static size_t Search(const Chunk& chunk, std::string_view key);
  static Chunk NewChunk() { return {std::make_unique<StoredRowPtr[]>(kChunkRows), 0}; }
  static void Move(Chunk* from, size_t begin, Chunk* to);
  Place MakeRoom(Place place);
  void Join(size_t chunk);

  std::vector<Chunk> chunks_;  // None is empty.
  uint64_t size_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_ROWS_H_

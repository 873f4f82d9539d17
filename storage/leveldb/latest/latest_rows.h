// LatestRows: the rows of one latest table in memory, found by key and read in order; each is a
// StoredRow, one allocation, and LatestIndex knows where it is. latest_tables.h says who may call.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_ROWS_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_ROWS_H_

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/prefetch.h"
#include "storage/leveldb/codec/latest_codec.h"

namespace tallyd {

class StoredRow;
struct FreeStoredRow {
  void operator()(StoredRow* row) const;
};
using StoredRowPtr = std::unique_ptr<StoredRow, FreeStoredRow>;

// A row key and the row, as EncodeLatest has it or open (latest_codec.h), in one allocation. A new
// value is written over the old one where it fits.
class StoredRow {
 public:
  // REQUIRES: a key of at most kMaxRowKeyBytes.
  static StoredRowPtr Make(std::string_view key, std::string_view value) {
    StoredRowPtr row = Allocate(key, value.size());
    row->Set(value);
    return row;
  }
  // The row of this layer alone.
  static StoredRowPtr Make(std::string_view key, const Layer& layer) {
    StoredRowPtr row = Allocate(key, LatestSize(layer));
    row->Set(layer);
    return row;
  }

  // An open row, with room for layers to come.
  static StoredRowPtr MakeOpen(std::string_view key, const OpenRow& open);

  std::string_view key() const { return {bytes(), key_size_}; }
  std::string_view value() const { return {bytes() + key_size_, value_size_}; }

  // Whether a value of this size has room, and leaves little of it unused.
  bool Fits(size_t value_size) const {
    const size_t room = size_t{value_size_} + spare_;
    return value_size <= room && room - value_size <= std::max(value_size, kHeapStep) &&
           room - value_size <= std::numeric_limits<uint16_t>::max();
  }
  // REQUIRES, both: it fits.
  void Set(std::string_view value) {
    Resize(value.size());
    if (!value.empty()) std::memcpy(value_bytes(), value.data(), value.size());
  }
  void Set(const Layer& layer) {
    Resize(LatestSize(layer));
    EncodeLatest(value_bytes(), layer);
  }

  // Behind the value. REQUIRES: there is as much room.
  bool HasRoomBehind(size_t size) const { return size <= spare_; }
  void Append(std::string_view bytes) {
    std::memcpy(value_bytes() + value_size_, bytes.data(), bytes.size());
    Resize(value_size_ + bytes.size());
  }

  // Where LatestGroup may have what becomes of the row. Nobody else looks at it.
  uint32_t change() const { return change_; }
  void set_change(uint32_t change) { change_ = change; }

 private:
  // What the heap gives is a multiple of this, less that: room that a row may as well have.
  static constexpr size_t kHeapStep = 16;
  static constexpr size_t kHeapBeside = 8;

  StoredRow(size_t key_size, size_t value_size, size_t spare)
      : value_size_(static_cast<uint32_t>(value_size)),
        key_size_(static_cast<uint16_t>(key_size)),
        spare_(static_cast<uint16_t>(spare)) {}
  static StoredRowPtr Allocate(std::string_view key, size_t value_size, size_t room_behind = 0);
  void Resize(size_t value_size) {
    spare_ = static_cast<uint16_t>(size_t{value_size_} + spare_ - value_size);
    value_size_ = static_cast<uint32_t>(value_size);
  }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  char* value_bytes() { return reinterpret_cast<char*>(this + 1) + key_size_; }

  uint32_t value_size_;  // LevelDB has no longer ones.
  uint32_t change_ = 0;
  const uint16_t key_size_;
  uint16_t spare_;  // Room behind the value.
};

// LatestIndex: where a row is, by a hash of its key. Slots in the order of the hashes, about at the
// place that a hash has among all: so a row is in one cache line or the next, and more slots are
// filled by walking through the few. They are of 64 parts, by the highest bits, each of which grows
// alone: with ten million rows that takes a few milliseconds. Not thread-safe.
class LatestIndex {
 public:
  // Nobody outside of the process can tell it.
  static uint32_t HashOf(std::string_view key);

  // Null if there is none.
  StoredRow* Find(uint32_t hash, std::string_view key) const {
    const Part& part = PartOf(hash);
    if (part.rows == 0) return nullptr;
    for (const Slot* slot = &part.slots[part.PlaceOf(hash)];; ++slot) {
      StoredRow* const row = slot->get();
      if (row == nullptr || slot->hash > hash) return nullptr;
      if (slot->hash == hash && row->key() == key) return row;
    }
  }
  // The same in two steps that do not wait for memory, each of which makes the next one fast.
  void FetchSlot(uint32_t hash) const {
    const Part& part = PartOf(hash);
    if (part.rows > 0) Prefetch(&part.slots[part.PlaceOf(hash)]);
  }
  // Of the first row with that hash; null: there is none.
  StoredRow* FetchRow(uint32_t hash) const;

  // For rows of these hashes, which are to be added. REQUIRES: there is none yet.
  void Reserve(std::span<const uint32_t> hashes);
  // REQUIRES: its key is not there.
  void Add(uint32_t hash, StoredRow* row);
  // REQUIRES, both: `row` is there.
  void Replace(uint32_t hash, const StoredRow* row, StoredRow* by);
  void Erase(uint32_t hash, const StoredRow* row);

 private:
  static constexpr unsigned kPartBits = 6;
  // Without the padding that a pointer would bring.
  struct Slot {
    uint32_t hash = 0;
    char row[sizeof(StoredRow*)] = {};

    StoredRow* get() const {
      StoredRow* at;
      std::memcpy(&at, row, sizeof at);
      return at;
    }
    void Set(uint32_t of_hash, StoredRow* to) {
      hash = of_hash;
      std::memcpy(row, &to, sizeof to);
    }
  };
  struct Part {
    std::unique_ptr<Slot[]> slots;
    uint32_t places = 0;  // That hashes have; behind them are a few slots more.
    uint32_t rows = 0;

    // Where a hash belongs; its slot is there or behind.
    uint32_t PlaceOf(uint32_t hash) const {
      return static_cast<uint32_t>((uint64_t{hash << kPartBits} * places) >> 32);
    }
    uint32_t Find(uint32_t hash, const StoredRow* row) const {
      uint32_t at = PlaceOf(hash);
      while (slots[at].get() != row) ++at;
      return at;
    }
    bool Put(uint32_t hash, StoredRow* row);
    void Resize(uint32_t to);
  };
  Part& PartOf(uint32_t hash) { return parts_[hash >> (32 - kPartBits)]; }
  const Part& PartOf(uint32_t hash) const { return parts_[hash >> (32 - kPartBits)]; }

  std::array<Part, size_t{1} << kPartBits> parts_;
};

// LatestRows: the rows of one latest table, with little beside them: a row is one allocation. An
// index finds a row by its key; for the order of the keys there are chunks of up to 256 pointers to
// rows in a list, as the leaves of a B+ tree would be. A chunk that is full is split, one that has
// become small joins its neighbour.
//
//   Put, Erase, Find by key; LowerBound, then Next or Previous, to read in order.
//
// A Place is good until the next change. Not thread-safe.
class LatestRows {
 public:
  static constexpr size_t kChunkRows = 256;

  struct Place {
    size_t chunk = 0;
    size_t row = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  uint64_t size() const { return size_; }

  // By the million rows are put faster without an index. Find may be called after BuildIndex.
  static LatestRows WithoutIndex() {
    LatestRows rows;
    rows.indexed_ = false;
    return rows;
  }
  // REQUIRES: neither has an index, and the rows of `behind` come behind all that are here.
  void Append(LatestRows&& behind);
  void BuildIndex();

  // Null if there is none.
  StoredRow* Find(std::string_view key) const { return index_.Find(LatestIndex::HashOf(key), key); }
  const LatestIndex& index() const { return index_; }
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

  LatestIndex index_;
  bool indexed_ = true;
  std::vector<Chunk> chunks_;  // None is empty.
  uint64_t size_ = 0;
};

// A row of some latest table.
struct LatestKey {
  TableId table = 0;
  std::string_view key;

  friend bool operator==(const LatestKey&, const LatestKey&) = default;
  struct Hash {
    using is_avalanching = void;
    size_t operator()(const LatestKey& row) const {
      return XXH3_64bits_withSeed(row.key.data(), row.key.size(), row.table);
    }
  };
};

// Rows, known by hashes of 128 bits with a seed of this process: nobody can make two that are
// equal.
class LatestKeySet {
 public:
  LatestKeySet();
  // False: it was there.
  bool Add(const LatestKey& row);
  bool Has(const LatestKey& row) const { return hashes_.contains(HashOf(row)); }
  void Clear() { hashes_ = {}; }

 private:
  struct RowHash {
    uint64_t low = 0;
    uint64_t high = 0;
    friend bool operator==(const RowHash&, const RowHash&) = default;
    friend size_t hash_value(const RowHash& hash) { return hash.low; }
  };
  RowHash HashOf(const LatestKey& row) const;

  uint64_t seed_;
  boost::unordered_flat_set<RowHash> hashes_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_ROWS_H_

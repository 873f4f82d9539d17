// LatestTables: every row of every latest table, in memory. The committer changes them: it reads
// rows without a lock (it is the only writer), gathers a group's new rows, and publishes them here
// once their write succeeded. Readers copy rows out in pieces under a shared lock: each row is one
// state, a scan need not be. What deletes hide of rows (latest_group.h) is in them for a while.
//
// The rows of one table are LatestRows; LatestLoader brings them from the disk.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

#include <leveldb/iterator.h>
#include <xxhash.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "storage/batch.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/latest/latest_merge.h"
#include "storage/table_info.h"

namespace tallyd {

class StoredRow;
struct FreeStoredRow {
  void operator()(StoredRow* row) const;
};
using StoredRowPtr = std::unique_ptr<StoredRow, FreeStoredRow>;

// A row key and the row as EncodeLatest has it.
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

// LatestRows: the rows of one latest table in the order of their keys, with little beside them: a
// row is one allocation, and chunks of up to 256 pointers to rows form a list, as the leaves of a
// B+ tree would. A chunk that is full is split, one that has become small joins its neighbour.
//
//   Put, Erase by key; LowerBound, then Next or Previous, to read in order.
//
// A Place is good until the next change. A slot (Find) is good until a row is added or goes; what
// lies in it may be replaced by a row of the same key. Not thread-safe.
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
  void Clear() { hashes_ = {}; }

 private:
  struct RowHash {
    uint64_t low = 0;
    uint64_t high = 0;
    friend bool operator==(const RowHash&, const RowHash&) = default;
    friend size_t hash_value(const RowHash& hash) { return hash.low; }
  };
  uint64_t seed_;
  boost::unordered_flat_set<RowHash> hashes_;
};

// What a group makes of a row.
struct LatestChange {
  StoredRowPtr* stored = nullptr;  // Where it is among the rows, if it was there before.
  bool changed = false;
  bool recorded = false;  // By the head; else base has been told what is left of it.
  StoredRowPtr row;       // What it becomes, if it is changed; null: it goes.
  std::optional<LatestTwin> twin;

  // The row as it will be; empty: there is none.
  std::string_view value() const {
    const StoredRow* const now = changed ? row.get() : stored != nullptr ? stored->get() : nullptr;
    return now != nullptr ? now->value() : std::string_view();
  }
};
// The keys outlive the group: they are of a batch's operations, or of stored rows.
using LatestChanges = boost::unordered_flat_map<LatestKey, LatestChange, LatestKey::Hash>;

// By table, the least time of what was put.
using LatestTimes = std::map<TableId, TimeUs>;

// Rows that were copied out: keys and values, which live as long as the copy.
class LatestCopy {
 public:
  using Row = std::pair<std::string_view, std::string_view>;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  friend class LatestTables;
  std::vector<Row> rows_;
  Arena arena_;
};

class LatestTables {
 public:
  using Rows = std::unordered_map<TableId, LatestRows>;

  // Of any thread.
  // The first rows of the range, or its last ones from the end on: at most `limit`, and not many
  // bytes more than a large row has. True: there may be more.
  bool Read(TableId table, const KeyRange& range, bool reverse, size_t limit,
            LatestCopy* copy) const;
  // The row as it is; empty if there is none.
  std::string Get(TableId table, std::string_view key) const;
  size_t SizeOf(const LatestKey& row) const;  // Of its value, in bytes.
  // How many rows the range holds. Takes time by the chunk, not by the row.
  uint64_t Count(TableId table, const KeyRange& range) const;
  uint64_t RowsOf(TableId table) const;

  // Of the sealer's thread.
  std::vector<TableId> Tables() const;
  // The least time that was put since it was last taken; the greatest there is if nothing was.
  TimeUs TakeOldest(TableId table);

  // Of the committer's thread.
  // Null if there is none; see LatestRows for how long it is good.
  StoredRowPtr* Find(const LatestKey& row) const;
  const LatestRows& Of(TableId table) const;
  // The rows that were replaced are left in *changes: nobody waits while they are freed.
  void Publish(LatestChanges* changes, const LatestTimes& oldest);
  // By what was loaded.
  void Replace(Rows rows);
  // Drops the rows of all other tables.
  void Keep(const std::function<bool(TableId)>& keep);
  // A table that was dropped.
  LatestRows TakeOut(TableId table);

 private:
  mutable std::shared_mutex mutex_;
  Rows tables_;
  LatestTimes oldest_;  // Put since TakeOldest.
};

// LatestLoader: latest rows from the disk into memory. Base's rows first, in order; then the
// changes of each head, from the oldest on. Each row goes straight to where it stays. Whatever is
// taken here is checked, because it is trusted later, on the commit path. Of one thread.
//
//   AddStored..., AddChanges..., Take.
class LatestLoader {
 public:
  // Both outlive the loader. Rows of other tables are left out.
  LatestLoader(const ColumnRegistry& sets, const std::map<TableId, TableInfo>& tables)
      : sets_(sets), tables_(tables) {}

  // A record of base. kCorruption, naming it, if it is malformed.
  Status AddStored(std::string_view key, std::string_view value);
  // What a head made of rows. `head` iterates over all of it; where it stands then is anywhere.
  Status AddChanges(leveldb::Iterator* head);
  LatestTables::Rows Take() { return std::move(rows_); }

 private:
  // A row of the head at hand that has the values of one of its history entries.
  struct Twin {
    LatestTwin layer;
    TableId table = 0;
    const StoredRow* row = nullptr;  // Only its key.
  };

  Status AddChange(std::string_view record, const LatestChangeRecord& change);
  Status AddRow(std::string_view record, const LatestChangeRecord& row);
  Status FindTwins(leveldb::Iterator* head);
  // How many twins it is the entry of.
  Result<size_t> AddTwinsOf(uint64_t sequence, std::string_view entry);

  const ColumnRegistry& sets_;
  const std::map<TableId, TableInfo>& tables_;
  LatestTables::Rows rows_;

  LatestKeySet changed_;  // Of the head at hand: rows that are read, like the next one.
  std::vector<Twin> twins_;
  std::vector<Layer> layers_;
  EntryCells cells_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

// LatestTables: every row of every latest table, in memory. The committer changes them: it reads
// rows without a lock (it is the only writer), gathers a group's new rows, and publishes them here
// once their write succeeded. Readers copy rows out in pieces under a shared lock: each row is one
// state, a scan need not be. What deletes hide of rows (latest_deletes.h) is in them for a while.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

#include <xxhash.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "storage/batch.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/latest/latest_rows.h"
#include "storage/table_info.h"

namespace tallyd {

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

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

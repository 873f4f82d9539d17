// LatestTables: every row of every latest table, in memory. The committer changes them: it reads
// rows without a lock (it is the only writer), gathers a group's new rows, and publishes them here
// once their write succeeded. Readers copy rows out in pieces under a shared lock: each row is one
// state, a scan need not be. What deletes hide of rows (latest_group.h) is in them for a while.
//
// The rows of one table are LatestRows; LatestLoader brings them from the disk. A wide row may be
// open (latest_codec.h): what readers get is folded.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "storage/batch.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/latest/latest_rows.h"
#include "storage/leveldb/latest/layer_fold.h"
#include "storage/table_info.h"

namespace tallyd {

// What a group makes of a row.
struct LatestChange {
  enum class To : uint8_t { kAsItWas, kGone, kLayer, kAdded, kRow };

  LatestKey key;                // Outlives the group: of a batch's operation, or of a stored row.
  StoredRow* stored = nullptr;  // The row, if it was there before.
  To to = To::kAsItWas;
  bool recorded = false;  // By the head; else base has been told what is left of it.
  uint32_t twin_set = 0;
  uint64_t twin = 0;  // Of a layer alone: the history entry that has its values; 0: none.
  Layer layer;        // To kLayer: this alone. Its entry is the batch's.
  // To kRow; to kAdded, where it is not `stored` that is added to. Once it is published, what was
  // replaced.
  StoredRowPtr row;
  std::unique_ptr<std::string> added;  // To kAdded: these layers, as AppendLayer has them.

  // Whether a value of this size can be written over the row.
  bool HasRoom(size_t size) const { return stored != nullptr && stored->Fits(size); }
};
// Each of another row.
using LatestChanges = std::vector<LatestChange>;

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
  std::unique_ptr<LayerFold> fold_;  // Once there was an open row.
};

class LatestTables {
 public:
  using Rows = std::unordered_map<TableId, LatestRows>;

  // It outlives the tables.
  explicit LatestTables(const ColumnRegistry& sets) : sets_(sets) {}

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
  // Null if there is none. Good until the row is taken out, or becomes one that has no room there.
  StoredRow* Find(const LatestKey& row) const { return Of(row.table).Find(row.key); }
  const LatestRows& Of(TableId table) const;
  // The rows that were replaced are left in *changes: nobody waits while they are freed. A layer
  // alone is written over its row where there is room. REQUIRES: there is room behind a row to
  // which layers are added.
  void Publish(LatestChanges* changes, const LatestTimes& oldest);
  // By what was loaded.
  void Replace(Rows rows);
  // Drops the rows of all other tables.
  void Keep(const std::function<bool(TableId)>& keep);
  // A table that was dropped.
  LatestRows TakeOut(TableId table);

 private:
  void Publish(LatestChange* change);
  bool CopyRows(TableId table, const KeyRange& range, bool reverse, size_t limit,
                LatestCopy* copy) const;
  void FoldRows(TableId table, LatestCopy* copy) const;

  const ColumnRegistry& sets_;
  mutable std::shared_mutex mutex_;
  Rows tables_;
  LatestTimes oldest_;  // Put since TakeOldest.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

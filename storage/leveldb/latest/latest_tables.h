// LatestTables: every row of every latest table, in memory, by database key. The committer changes
// them: it reads rows without a lock (it is the only writer), gathers a group's new rows, and
// publishes them here once their write succeeded. Readers copy rows out in chunks under a shared
// lock: each row is one state, a scan need not be.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/key_ranges.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/table_info.h"

namespace tallyd {

// A row as LatestCodec encodes it; null: no such row.
using LatestRow = std::shared_ptr<const std::string>;

// What a group makes of a row.
struct LatestChange {
  LatestRow row;
  LatestRow* stored = nullptr;  // Where it is among the rows, if it was there before.
  std::optional<LatestTwin> twin;
};
// By database key, which outlives the group: that of a batch's operation, or of a stored row.
using LatestChanges = boost::unordered_flat_map<std::string_view, LatestChange>;

class LatestTables {
 public:
  using Rows = std::map<std::string, LatestRow, std::less<>>;

  // Of any thread. Up to `limit` rows of the database range, in key order or from its end.
  std::vector<std::pair<std::string, LatestRow>> Read(const KeyRange& database, bool reverse,
                                                      size_t limit) const;
  LatestRow Get(std::string_view key) const;  // Null if there is none.
  // How many rows the range holds; stops at `limit`.
  uint64_t Count(const KeyRange& database, uint64_t limit) const;
  uint64_t RowsOf(TableId table) const;

  // Of the committer's thread.
  LatestRow* Find(std::string_view key);  // Null if there is none; stays where it is until erased.
  Rows& rows() { return rows_; }
  // The rows that were replaced are left in *changed: nobody waits while they are freed.
  void Publish(LatestChanges* changed);
  void Replace(Rows rows);

 private:
  mutable std::shared_mutex mutex_;
  Rows rows_;
  std::unordered_map<TableId, uint64_t> counts_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_TABLES_H_

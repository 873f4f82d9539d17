// BatchCounts: what a batch of events leaves behind, for the answer to its sender: the distinct
// rows of tables that it touches and the cells in them. The same row, column and time twice is one
// cell; in a latest table the same row and column is one, and with kLatestRow only the newest
// event's cells count. What the store already holds does not matter.
//
//   BatchCounts counts;
//   counts.Add(table, key, time, set, values);   // With the arguments of Batch::Put.
//   ... counts.rows(), counts.cells();
//
// Nothing passed in needs to outlive the call, but ColumnSets. Not thread-safe.
#ifndef TALLYD_STORAGE_BATCH_COUNTS_H_
#define TALLYD_STORAGE_BATCH_COUNTS_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/column_set.h"
#include "storage/table_info.h"

namespace tallyd {

class BatchCounts {
 public:
  void Add(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values);
  void Add(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values);

  uint64_t rows() const { return rows_.size(); }
  uint64_t cells() const;

 private:
  // Rows and columns are known by their hashes: 128 bits for a row, 64 for a column of a row.
  struct RowHash {
    uint64_t low = 0;
    uint64_t high = 0;
    friend bool operator==(const RowHash&, const RowHash&) = default;
    friend size_t hash_value(const RowHash& hash) { return hash.low; }
  };
  struct Put {
    uint32_t row = 0;
    TableMode mode = TableMode::kHistory;
    TimeUs time = 0;
    const ColumnSet* set = nullptr;  // Only when every value is present; else hashes_ tells.
    size_t first_hash = 0;
    size_t cells = 0;
  };

  uint32_t RowNumber(const TableInfo& table, std::string_view row_key);
  void AddHashed(const TableInfo& table, std::string_view row_key, TimeUs time,
                 std::span<const ColumnRef> columns, std::span<const Value> values);
  uint64_t CountGroup(std::span<const Put* const> puts) const;

  boost::unordered_flat_map<RowHash, uint32_t> rows_;
  std::vector<Put> puts_;
  std::vector<uint64_t> hashes_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BATCH_COUNTS_H_

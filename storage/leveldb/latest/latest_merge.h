// LatestMerge: how a row of a latest table takes up an event, and what deletes and age leave of it.
// A row is its layers (entry_codec.h). A new layer goes to its place in time; layers that newer
// ones cover wholly are dropped, and so are covered cells where the columns of layers overlap.
//
// The common cases cost no decoding: a layer over one of the same column set replaces it, and
// whether sets overlap is told by the numbers of their columns. Of one thread.
//
// Where single cells go, entries are taken apart as EntryCells.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_MERGE_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_MERGE_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/cell_merge.h"
#include "storage/leveldb/catalogue/catalogue.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/table_info.h"

namespace tallyd {

// An entry as a list of cells, for latest tables, which change stored entries. Scans do not use it:
// they decode in place (row_assembler.h). Null values are absent cells. Views are into the entry
// and the set.
struct EntryCells {
  const ColumnSet* set = nullptr;  // Null: by name.
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
};

bool DecodeEntry(const ColumnRegistry& sets, TableId table, std::string_view entry,
                 EntryCells* cells);

// Takes out the cells that `drop` names; it is asked for each cell once, in order. False: nothing
// changed. True: *out is the entry that is left, empty if no cell is. REQUIRES: DecodeEntry
// succeeded.
bool FilterEntry(EntryCells* cells, const std::function<bool(const ColumnRef&)>& drop,
                 std::string* out);

// What is to go of a row.
struct LatestTrim {
  std::vector<const DeleteRange*> deletes;  // That cover the row.
  // By family: older cells are past their age. Families beyond the last have none.
  std::span<const TimeUs> oldest;

  bool empty() const { return deletes.empty() && oldest.empty(); }
  bool HidesLayer(const Layer& layer) const;  // The whole of it, whatever it holds.
  // Whether some of it may be to go: if not, nothing is.
  bool MayTouch(const Layer& layer) const;
  bool HidesCell(const Layer& layer, const ColumnRef& column) const;
};

class LatestMerge {
 public:
  explicit LatestMerge(const ColumnRegistry& sets) : sets_(sets) {}

  // What both return is `row` itself where nothing changes, and else good until the next call;
  // kCorruption if the row is malformed.

  // The row (empty: none yet) after `layer` was written to it.
  Result<std::string_view> Put(TableId table, TableMode mode, std::string_view row,
                               const Layer& layer);
  // The row without what is to go; empty if nothing is left.
  Result<std::string_view> Trim(TableId table, std::string_view row, const LatestTrim& trim);

 private:
  using ColumnKey = std::pair<FamilyId, std::string_view>;
  // Of one table: its columns by number, and those of its sets.
  struct SetColumns {
    boost::unordered_flat_map<ColumnKey, uint32_t> numbers;  // The keys view sets.
    std::unordered_map<uint32_t, std::vector<uint32_t>> of_set;
    std::vector<uint64_t> in_merge;  // By column: the last merge whose layer has it.
    uint64_t merges = 0;
  };

  bool NeedsCellMerge(TableId table, const Layer& added);
  const std::vector<uint32_t>* NumbersOf(TableId table, uint32_t set, SetColumns* columns) const;
  Status MergeCells(TableId table);
  std::string_view Encode(std::span<const Layer> layers);

  const ColumnRegistry& sets_;
  boost::unordered_flat_map<TableId, SetColumns> columns_;
  CellMerge cells_{CellMerge::Versions::kNewest};
  std::vector<Layer> layers_;           // Of the row at hand.
  std::vector<std::string> rewritten_;  // What layers_ view beside the row.
  std::string encoded_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_MERGE_H_

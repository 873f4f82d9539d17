// LatestMerge: how a row of a latest table takes up an event, and what deletes and age leave of it.
// A row is its layers (latest_codec.h). A new layer goes to its place in time; what newer ones
// cover goes (layer_fold.h). The common case costs no decoding: a layer over one of the same column
// set replaces it. Of one thread.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_MERGE_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_MERGE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/latest/entry_cells.h"
#include "storage/leveldb/latest/layer_fold.h"
#include "storage/table_info.h"

namespace tallyd {

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
  explicit LatestMerge(const ColumnRegistry& sets) : sets_(sets), fold_(sets) {}

  // What becomes of a row in the common cases, told by its newest layer (`alone`: it has no other)
  // and by the one that is put: the row is that one then, or stays, or it takes Put to tell.
  enum class Fate { kReplaces, kIsCovered, kMerges };
  static Fate FateOf(TableMode mode, const Layer& newest, bool alone, const Layer& added);

  // What both return is `row` itself where nothing changes, and else good until the next call;
  // kCorruption if the row is malformed.

  // The row (empty: none yet) after `layer` was written to it.
  Result<std::string_view> Put(TableId table, TableMode mode, std::string_view row,
                               const Layer& layer);
  // As LayerFold has it.
  std::string_view Fold(TableId table, std::string_view held, std::string_view added) {
    return fold_.FoldHeld(table, held, added);
  }
  // The row without what is to go; empty if nothing is left.
  Result<std::string_view> Trim(TableId table, std::string_view row, const LatestTrim& trim);

 private:
  std::string_view Encode(std::span<const Layer> layers);

  const ColumnRegistry& sets_;
  LayerFold fold_;
  std::vector<Layer> layers_;           // Of the row at hand.
  std::vector<std::string> rewritten_;  // What layers_ view beside the row.
  std::string encoded_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_MERGE_H_

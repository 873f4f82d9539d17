// LayerFold: the layers of a latest row without what newer ones of them cover. Where a row
// is one layer of the columns of the next, LatestMerge::FateOf tells without it.
//
// What takes no decoding takes little: a layer with every column of its set is looked at by the
// numbers of these alone, and goes, or stays as it is, unless some of them are covered and some are
// not. Of one thread.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LAYER_FOLD_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LAYER_FOLD_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/latest/entry_cells.h"
#include "storage/table_info.h"

namespace tallyd {

class LayerFold {
 public:
  explicit LayerFold(const ColumnRegistry& sets) : sets_(sets) {}

  // Leaves each column in the first layer that has it; a layer of which nothing is left goes. What
  // stays may view the fold until its next call. False, and nothing changed: one is malformed.
  // REQUIRES: newest first.
  bool Fold(TableId table, std::vector<Layer>* layers);
  // The row in memory, and layers that are added to it, as EncodeLatest has them: `held` itself
  // where it is that; else good until the next call. What cannot be read is not folded: who reads
  // the row says so.
  std::string_view FoldHeld(TableId table, std::string_view held, std::string_view added);

 private:
  using ColumnKey = std::pair<FamilyId, std::string_view>;
  // Of one table: its columns by number, and those of its sets.
  struct SetColumns {
    boost::unordered_flat_map<ColumnKey, uint32_t> numbers;  // The keys view sets.
    boost::unordered_flat_map<uint32_t, std::vector<uint32_t>> of_set;
    std::vector<uint64_t> taken;  // By column: the last fold of which a layer has it.
    uint64_t folds = 0;
  };

  bool FoldBySet(TableId table, const std::vector<Layer>& layers);
  bool FoldByName(TableId table, const std::vector<Layer>& layers);
  // Null if the set is not known.
  const std::vector<uint32_t>* NumbersOf(TableId table, uint32_t set, SetColumns* columns) const;
  bool TakeCells(const Layer& layer, const std::vector<uint32_t>& numbers, SetColumns* columns);
  void Keep(const Layer& layer, std::string&& rewritten);

  const ColumnRegistry& sets_;
  boost::unordered_flat_map<TableId, SetColumns> columns_;
  std::vector<Layer> left_;            // Of the row at hand.
  std::deque<std::string> rewritten_;  // What they view beside it.
  ByteBuffer entry_;
  std::vector<Layer> layers_;  // Of FoldHeld.
  std::vector<Layer> added_;
  std::string encoded_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LAYER_FOLD_H_

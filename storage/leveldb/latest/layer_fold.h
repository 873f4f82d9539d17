// LayerFold: the layers of a latest row without what newer ones of them cover. Where a row
// is one layer of the columns of the next, LatestMerge::FateOf tells without it.
//
// What takes no decoding takes little: a layer with every column of its set is looked at by the
// columns of the set alone, and goes, or stays as it is, unless some of them are covered and some
// are not. Of one thread.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LAYER_FOLD_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LAYER_FOLD_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/batch.h"
#include "storage/bytes/short_values.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/latest/entry_cells.h"
#include "storage/leveldb/latest/taken_columns.h"
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
  bool FoldBySet(TableId table, const std::vector<Layer>& layers);
  bool FoldByName(TableId table, const std::vector<Layer>& layers);
  bool TakeLayer(const Layer& layer, const EntryHead& head, const TakenColumns::Set& set,
                 TakenColumns* taken);
  bool TakeCells(const Layer& layer, const TakenColumns::Set& set, TakenColumns* taken);
  void Keep(const Layer& layer, std::string_view rewritten);

  const ColumnRegistry& sets_;
  boost::unordered_flat_map<TableId, TakenColumns> taken_;
  std::vector<Layer> left_;  // Of the row at hand.
  Arena rewritten_;          // What they view beside it.
  ShortValues found_;
  ByteBuffer entry_;
  std::vector<Layer> layers_;  // Of FoldHeld.
  std::vector<Layer> added_;
  std::vector<Layer> merged_;
  std::string encoded_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LAYER_FOLD_H_

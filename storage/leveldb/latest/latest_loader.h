// LatestLoader: latest rows from the disk into memory. Base's rows first, in order; then the
// changes of each head, from the oldest on. Each row goes straight to where it stays. Whatever is
// taken here is checked, because it is trusted later, on the commit path. A loader is of one
// thread; several, each with a loader, may take pieces of base's rows at once.
//
//   AddStored... or Append..., AddChanges..., Take.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_LOADER_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_LOADER_H_

#include <leveldb/iterator.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/latest/entry_cells.h"
#include "storage/leveldb/latest/latest_rows.h"
#include "storage/leveldb/latest/latest_tables.h"
#include "storage/table_info.h"

namespace tallyd {

class LatestLoader {
 public:
  // Both outlive the loader. Rows of other tables are left out.
  LatestLoader(const ColumnRegistry& sets, const std::map<TableId, TableInfo>& tables)
      : sets_(sets), tables_(tables), fold_(sets) {}

  // Of the same columns and tables, which it refers to.
  std::unique_ptr<LatestLoader> Another() const {
    return std::make_unique<LatestLoader>(sets_, tables_);
  }

  // A record of base. kCorruption, naming it, if it is malformed.
  Status AddStored(std::string_view key, std::string_view value);
  // What another took of base. REQUIRES: of each table what it has comes behind what is here.
  void Append(LatestLoader&& behind);
  // What a head made of rows. `head` iterates over all of it; where it stands then is anywhere.
  Status AddChanges(leveldb::Iterator* head);
  LatestTables::Rows Take();

 private:
  // A row of the head at hand that has the values of one of its history entries.
  struct Twin {
    LatestTwin layer;
    TableId table = 0;
    const StoredRow* row = nullptr;  // Only its key.
  };

  // What a head added to a row since it changed the whole of it.
  struct Addition {
    std::string record;               // Its key.
    std::vector<std::string> layers;  // Of each change, the newest first.
  };

  LatestRows& RowsOf(TableId table);
  Status AddRecord(std::string_view record, std::string_view changes);
  Status AddChange(std::string_view record, const LatestChangeRecord& change);
  bool AreReadable(TableId table, const std::vector<Layer>& layers);
  Status AddRow(std::string_view record, const LatestChangeRecord& row);
  Status FindTwins(leveldb::Iterator* head);
  Status AddAdditions();
  // How many twins it is the entry of.
  Result<size_t> AddTwinsOf(uint64_t sequence, std::string_view entry);

  const ColumnRegistry& sets_;
  const std::map<TableId, TableInfo>& tables_;
  LatestTables::Rows rows_;

  LatestKeySet changed_;  // Of the head at hand: rows that are read, like the next one.
  std::vector<Twin> twins_;
  std::map<std::pair<TableId, std::string>, Addition> additions_;
  LayerFold fold_;
  std::vector<Layer> layers_;
  EntryCells cells_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_LOADER_H_

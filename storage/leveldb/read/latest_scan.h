// LatestScan: RowScan over a latest table, from memory. Rows come in chunks: each row is one state,
// the scan as a whole need not be.
#ifndef TALLYD_STORAGE_LEVELDB_READ_LATEST_SCAN_H_
#define TALLYD_STORAGE_LEVELDB_READ_LATEST_SCAN_H_

#include <string_view>
#include <vector>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/latest/latest_group.h"
#include "storage/leveldb/latest/latest_tables.h"
#include "storage/leveldb/read/column_plan.h"
#include "storage/leveldb/read/row_assembler.h"
#include "storage/leveldb/read/scan_ranges.h"

namespace tallyd {

class LatestScan final : public RowScan {
 public:
  // `sets` and `latest` outlive the scan. `deletes`: as they are by now.
  LatestScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
             const LatestTables& latest, DeleteListPtr deletes);

  Result<bool> Next() override;
  void SkipTo(std::string_view key) override;
  const Row& row() const override { return assembler_.row(); }

 private:
  bool ReadChunk();
  Status ReadRow(std::string_view key, std::string_view row);

  const TableId table_;
  const bool reverse_;
  const bool keys_only_;
  const LatestTables& latest_;
  const DeleteListPtr deletes_;
  ColumnPlan plan_;
  RowAssembler assembler_;

  ScanRanges ranges_;   // What is still to be read,
  bool more_;           // if anything is.
  uint64_t rows_left_;  // That the limit leaves.
  LatestCopy chunk_;
  size_t next_ = 0;  // In chunk_.
  size_t chunk_rows_ = 16;
  std::vector<Layer> layers_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_LATEST_SCAN_H_

// The scans of a table's rows, as Store hands them out: HistoryScan over a history table,
// LatestScan over a latest table, FailedScan where none could begin. And what a scan of ranges
// would take, and where to cut them, from the indexes of block files and a count over the heads: no
// block is read for that. Threads and lifetime are those of storage/scan.h.
#ifndef TALLYD_STORAGE_LEVELDB_READ_TABLE_SCAN_H_
#define TALLYD_STORAGE_LEVELDB_READ_TABLE_SCAN_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/latest/latest_group.h"
#include "storage/leveldb/latest/latest_tables.h"
#include "storage/leveldb/read/entry_merge.h"
#include "storage/leveldb/read/row_assembler.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Rows of a history table.
class HistoryScan final : public RowScan {
 public:
  // As EntryMerge.
  HistoryScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
              std::unique_ptr<Lease> lease, const DeleteList& deletes,
              MergeCounts* merges = nullptr)
      : merge_(std::move(table), spec, sets, std::move(lease), deletes, merges) {}

  Result<bool> Next() override { return merge_.NextRow(); }
  void SkipTo(std::string_view key) override { merge_.SkipTo(key); }
  const Row& row() const override { return merge_.row(); }

 private:
  EntryMerge merge_;
};

// What a caller gets where no scan could begin.
class FailedScan final : public RowScan {
 public:
  explicit FailedScan(Error error) : error_(std::move(error)) {}
  Result<bool> Next() override { return error_; }
  void SkipTo(std::string_view) override {}
  const Row& row() const override { return row_; }

 private:
  const Error error_;
  const Row row_;
};

// LatestScan: RowScan over a latest table, from memory. Rows come in chunks: each row is one state,
// the scan as a whole need not be.
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

// As Store::Estimate. Rows in several places count in each.
Result<ScanEstimate> EstimateHistory(Lease* lease, TableId table, const EstimateSpec& spec);

// Of block files only.
uint64_t DiskBytes(const View& view, TableId table);

// Cuts a range into parts with about as many entries each, as far as blocks tell that have any of
// that time.
std::vector<KeyRange> SplitRange(const View& view, TableId table, const KeyRange& range,
                                 const TimeRange& time, const SplitSpec& spec);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_TABLE_SCAN_H_

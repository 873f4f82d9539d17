// BigtableScan: a RowScan of one table, over a RowStream. What Bigtable sends is judged here: what
// a family's rules hide, which cells are wanted, in which order they come.
#ifndef TALLYD_STORAGE_BIGTABLE_READ_BIGTABLE_SCAN_H_
#define TALLYD_STORAGE_BIGTABLE_READ_BIGTABLE_SCAN_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/batch.h"
#include "storage/bigtable/codec/cell_codec.h"
#include "storage/bigtable/read/row_stream.h"
#include "storage/bigtable/read/table_sample.h"
#include "storage/cell_merge.h"
#include "storage/scan.h"

namespace tallyd {

// Of the service, as it was found when the store was opened.
struct ServiceTraits {
  int64_t grain_us = kUsPerMs;  // Cell times are multiples of it.
  bool reverses = true;         // Takes reverse scans. Where not, rows are turned round here.
};

class BigtableScan final : public RowScan {
 public:
  // `client` outlives it. What it reads is told to the sample; null: to nobody.
  BigtableScan(BigtableClient* client, const ServiceTraits& traits, TablePtr table,
               const ScanSpec& spec, std::shared_ptr<TableSample> sample = nullptr);

  Result<bool> Next() override;
  void SkipTo(std::string_view key) override;
  const Row& row() const override { return row_; }

 private:
  struct Live {
    TimeUs time = 0;
    ColumnRef column;
    std::string_view text;
  };
  struct TurnedRow {
    std::string key;
    std::vector<Live> cells;
    std::unique_ptr<Arena> arena;
  };

  Result<bool> NextLive();
  Result<bool> ReadTurned();
  void TakeCells(const WireRow& row);
  void TellSample(const WireRow& row);
  bool IsWanted(const ColumnRef& column) const;
  void Show(std::string_view key);

  const TablePtr table_;
  const ScanSpec spec_;
  const std::shared_ptr<TableSample> sample_;
  const bool turns_;  // Reads forward, and gives the rows backwards.
  const CellCodec codec_;
  std::vector<GcRule> rules_;
  RowStream stream_;
  CellMerge merge_;
  std::string skip_to_;
  uint64_t passed_over_ = 0;  // Rows since SkipTo.
  uint64_t returned_ = 0;
  bool has_turned_ = false;
  std::deque<TurnedRow> turned_;
  TurnedRow shown_;  // Of turned_, whose bytes row_ views.
  std::vector<Live> cells_;
  Arena arena_;  // What values are decoded to.
  Row row_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_READ_BIGTABLE_SCAN_H_

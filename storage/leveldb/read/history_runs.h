// HistoryRuns: the scan of a history table column by column (storage/scan.h). Threads and lifetime
// are those of storage/scan.h.
#ifndef TALLYD_STORAGE_LEVELDB_READ_HISTORY_RUNS_H_
#define TALLYD_STORAGE_LEVELDB_READ_HISTORY_RUNS_H_

#include <memory>
#include <string>
#include <vector>

#include "storage/leveldb/files/database.h"
#include "storage/leveldb/read/block_source.h"
#include "storage/leveldb/read/entry_merge.h"
#include "storage/leveldb/read/row_assembler.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Runs of a history table. What a block file alone has comes as runs; where heads or files overlap,
// or deletes hide something, rows come as EntryMerge makes them.
class HistoryRuns final : public RunScan {
 public:
  // As EntryMerge.
  HistoryRuns(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
              std::unique_ptr<Lease> lease, const DeleteList& deletes,
              MergeCounts* merges = nullptr)
      : names_only_(spec.names_only),
        merge_(std::move(table), spec, sets, std::move(lease), deletes, merges) {}

  Result<bool> Next() override;
  const ColumnRun* run() const override { return is_run_ ? &run_ : nullptr; }
  const Row& row() const override { return merge_.row(); }

 private:
  // What a stretch of a block comes to.
  enum class Fill : uint8_t {
    kRun,      // It is in run_.
    kNothing,  // No entry has a selected column.
    kRows,     // Some cell may be past its age: rows tell.
  };

  // True: run_ is filled. False: what comes next is a row.
  Result<bool> NextRun();
  Status Skip(BlockSource* source, uint32_t count);
  Fill FillRun(BlockSource* source, const ShapeCells& cells, uint32_t length);
  void FillColumns(const BlockTimes& block_times, const ShapeCells& cells, uint32_t begin);

  const bool names_only_;
  EntryMerge merge_;
  bool is_run_ = false;
  BlockSource* taken_from_ = nullptr;  // The run's; it moves on with the next call.
  uint32_t taken_ = 0;
  ColumnRun run_;
  std::vector<RunColumn> columns_;
  std::vector<TimeUs> times_;  // Of columns that some entries lack, one after the other.
  std::string first_key_;
  std::string last_key_;
  std::string end_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_HISTORY_RUNS_H_

// HistoryRuns: RunScan over a history table. What a block file alone has comes as runs; where heads
// or files overlap, or deletes hide something, rows come as EntryMerge makes them.
#ifndef TALLYD_STORAGE_LEVELDB_READ_HISTORY_RUNS_H_
#define TALLYD_STORAGE_LEVELDB_READ_HISTORY_RUNS_H_

#include <memory>
#include <string>
#include <vector>

#include "storage/leveldb/read/entry_merge.h"
#include "storage/scan.h"

namespace tallyd {

class HistoryRuns final : public RunScan {
 public:
  // As EntryMerge.
  HistoryRuns(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
              std::unique_ptr<Lease> lease, const DeleteList& deletes)
      : merge_(std::move(table), spec, sets, std::move(lease), deletes) {}

  Result<bool> Next() override;
  const ColumnRun* run() const override { return is_run_ ? &run_ : nullptr; }
  const Row& row() const override { return merge_.row(); }

 private:
  // True: run_ is filled. False: what comes next is a row.
  Result<bool> NextRun();
  Status Skip(BlockSource* source, uint32_t count);
  bool FillRun(BlockSource* source, const ShapeCells& cells, uint32_t length);

  EntryMerge merge_;
  bool is_run_ = false;
  BlockSource* taken_from_ = nullptr;  // The run's; it moves on with the next call.
  uint32_t taken_ = 0;
  ColumnRun run_;
  std::vector<RunColumn> columns_;
  std::string first_key_;
  std::string last_key_;
  std::string end_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_HISTORY_RUNS_H_

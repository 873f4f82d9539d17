// HistoryScan: RowScan over a history table. Walks the entries of one snapshot, row by row, newest
// first within a row, and leaves out what cannot be asked for by seeking: times outside the spec's
// range (unless newer cells count towards max_versions), times past every age, the rest of a row
// once it has given what is wanted.
//
// Backwards, the last entry of a row comes first. If it is the only one, as in a table with a row
// per event, it is the row; else a second iterator reads the row forwards.
#ifndef TALLYD_STORAGE_LEVELDB_HISTORY_SCAN_H_
#define TALLYD_STORAGE_LEVELDB_HISTORY_SCAN_H_

#include <memory>
#include <string>

#include "storage/leveldb/column_plan.h"
#include "storage/leveldb/database.h"
#include "storage/leveldb/delete_ranges.h"
#include "storage/leveldb/key_codec.h"
#include "storage/leveldb/row_assembler.h"

namespace tallyd {

class HistoryScan final : public RowScan {
 public:
  // `deletes` were taken together with the lease's snapshot. `sets` outlives the scan.
  HistoryScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
              std::unique_ptr<Lease> lease, const DeleteList& deletes);

  Result<bool> Next() override;
  void SkipTo(std::string_view key) override;
  const Row& row() const override { return assembler_.row(); }

 private:
  Result<bool> NextForward(const Access& access);
  Result<bool> NextBackward(const Access& access);
  Status ReadForwards(const Access& access, leveldb::Iterator* it);
  Status ReadLastEntry(const Access& access, leveldb::Iterator* it, const EntryKey& last);
  Status Add(std::string_view key, const EntryKey& entry, std::string_view value);
  void BeginRow(std::string_view row_prefix);
  bool FinishRow();
  bool IsInRow(const leveldb::Iterator& it) const;
  void SkipNewer(leveldb::Iterator* it) const;
  void LeaveRow(leveldb::Iterator* it) const;
  Status CheckStop(const Access& access);

  const TableId table_;
  const bool reverse_;
  const bool keys_only_;
  const std::unique_ptr<Lease> lease_;
  ColumnPlan plan_;
  RowAssembler assembler_;
  const TimeUs from_;  // Entries below it have nothing to give.
  const TimeUs to_;    // Entries from here on need not be read.
  DeleteList deletes_;

  std::string start_;  // Rows outside [start_, end_) are not, or no longer, wanted.
  std::string end_;
  bool positioned_ = false;  // Iterator 0 stands at the next row (backwards: at its last entry).
  std::string row_prefix_;   // Of the row read last.
  std::string row_key_;
  std::string scratch_;
  uint32_t steps_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_HISTORY_SCAN_H_

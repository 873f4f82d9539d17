// HistoryScan: RowScan over a history table.
#ifndef TALLYD_STORAGE_LEVELDB_READ_HISTORY_SCAN_H_
#define TALLYD_STORAGE_LEVELDB_READ_HISTORY_SCAN_H_

#include <memory>

#include "storage/leveldb/read/entry_merge.h"

namespace tallyd {

class HistoryScan final : public RowScan {
 public:
  // As EntryMerge.
  HistoryScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
              std::unique_ptr<Lease> lease, const DeleteList& deletes)
      : merge_(std::move(table), spec, sets, std::move(lease), deletes) {}

  Result<bool> Next() override { return merge_.NextRow(); }
  void SkipTo(std::string_view key) override { merge_.SkipTo(key); }
  const Row& row() const override { return merge_.row(); }

 private:
  EntryMerge merge_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_HISTORY_SCAN_H_

// HistoryScan: RowScan over a history table; FailedScan: what a caller gets where none could begin.
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

// A scan that could not begin.
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

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_HISTORY_SCAN_H_

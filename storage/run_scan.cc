#include "storage/run_scan.h"

namespace tallyd {
namespace {

class RowRuns final : public RunScan {
 public:
  explicit RowRuns(std::unique_ptr<RowScan> rows) : rows_(std::move(rows)) {}
  Result<bool> Next() override { return rows_->Next(); }
  const ColumnRun* run() const override { return nullptr; }
  const Row& row() const override { return rows_->row(); }

 private:
  const std::unique_ptr<RowScan> rows_;
};

}  // namespace

std::unique_ptr<RunScan> RunsOfRows(std::unique_ptr<RowScan> rows) {
  return std::make_unique<RowRuns>(std::move(rows));
}

}  // namespace tallyd

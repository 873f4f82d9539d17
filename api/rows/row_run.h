// RowRun: a query for rows being answered: the rows, filtered, and the cursor behind them.
// It owns all that it needs but the store.
#ifndef TALLYD_API_ROWS_ROW_RUN_H_
#define TALLYD_API_ROWS_ROW_RUN_H_

#include <chrono>
#include <memory>
#include <string>

#include "api/rows/row_query.h"

namespace tallyd {

class RowRun {
 public:
  // `memory`: where what it holds counts; null: nowhere.
  RowRun(RowQuery query, ApiContext& context, ReadMemoryPtr memory = nullptr);
  ~RowRun();  // Counts what was read and returned.
  RowRun(const RowRun&) = delete;
  RowRun& operator=(const RowRun&) = delete;

  const RowQuery& query() const { return query_; }
  // To the next row that has a cell to show.
  Result<bool> Next();
  // The row, which counts as returned, and as the one that the cursor stands behind.
  const Row& Take();
  std::string Cursor() const;
  // After a pause: gives up a scan that has been open for long and goes on behind the row.
  void Refresh();
  // Lets go of the scan; Next opens another behind the row.
  void Release();
  const ReadMemoryPtr& memory() const { return memory_; }

 private:
  bool HasRoomForRow();
  const Row& row() const { return query_.value ? filtered_ : scan_->row(); }
  bool FilterByValue();
  void CountRow();

  RowQuery query_;
  ApiContext& context_;
  const ReadMemoryPtr memory_;
  MemoryCharge charge_;
  std::unique_ptr<RowScan> scan_;  // Null: it is to be opened.
  Row filtered_;
  std::string last_key_;
  std::string scratch_;
  std::chrono::steady_clock::time_point opened_;
  uint64_t read_ = 0;
  RowStems stems_;  // Of the rows read.
  uint64_t returned_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_API_ROWS_ROW_RUN_H_

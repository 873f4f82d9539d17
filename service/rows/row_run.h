// RowRun: a query for rows being answered: the rows, filtered, and where a page of them ends. It
// owns all that it needs but what ReadParts name.
#ifndef TALLYD_SERVICE_ROWS_ROW_RUN_H_
#define TALLYD_SERVICE_ROWS_ROW_RUN_H_

#include <chrono>
#include <memory>
#include <string>

#include "service/limits/query_memory.h"
#include "service/read_parts.h"
#include "service/rows/row_query.h"

namespace tallyd {

class RowRun {
 public:
  // `memory`: where what it holds counts; null: nowhere.
  RowRun(RowQuery query, const ReadParts& parts, ReadMemoryPtr memory = nullptr);
  ~RowRun();  // Counts what was read and returned.
  RowRun(const RowRun&) = delete;
  RowRun& operator=(const RowRun&) = delete;

  const RowQuery& query() const { return query_; }
  // To the next row that has a cell to show.
  Result<bool> Next();
  // The row, which counts as returned.
  const Row& Take();
  // Of the row that was taken last: the next page begins behind it.
  const std::string& last_key() const { return last_key_; }
  // After a pause: gives up a scan that has been open for long and goes on behind the row.
  void Refresh();
  // Lets go of the scan; Next opens another behind the row.
  void Release();
  const ReadMemoryPtr& memory() const { return memory_; }

 private:
  bool HasRoomForRow();
  const Row& row() const { return query_.value ? filtered_ : scan_->row(); }
  bool FilterByValue();
  Status CheckTable();
  void CountRow();
  std::unique_ptr<RowScan> OpenScan() const;

  RowQuery query_;
  const ReadParts parts_;
  const ReadMemoryPtr memory_;
  MemoryCharge charge_;
  // Of the table when the first scan was about to be opened; 0 for a query of one row.
  const Result<uint64_t> emptied_;
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

#endif  // TALLYD_SERVICE_ROWS_ROW_RUN_H_

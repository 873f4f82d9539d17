// RowMeasurer: a thread that reads the rows that RowSizes wants measured, one at a time, and says
// what their values take. It begins in the constructor; Stop ends it, before the store closes.
#ifndef TALLYD_SERVICE_LIMITS_ROW_MEASURER_H_
#define TALLYD_SERVICE_LIMITS_ROW_MEASURER_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "service/limits/row_sizes.h"
#include "storage/store.h"

namespace tallyd {

// What the values of the row take now; nothing where it cannot be read.
std::optional<uint64_t> MeasureRow(Store* store, const TablePtr& table, const std::string& key,
                                   TimeUs now);

class RowMeasurer {
 public:
  // All outlive it.
  RowMeasurer(RowSizes* sizes, Store* store, const Clock* clock);
  ~RowMeasurer();
  RowMeasurer(const RowMeasurer&) = delete;
  RowMeasurer& operator=(const RowMeasurer&) = delete;

  void Stop();  // Idempotent.

 private:
  void Run();

  RowSizes& sizes_;
  Store& store_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = false;  // Guarded by mutex_, like the next.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIMITS_ROW_MEASURER_H_

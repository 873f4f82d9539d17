#include "service/limits/row_measurer.h"

#include <chrono>

namespace tallyd {
namespace {

// Between two rows: to measure never takes more than a part of the disk's time.
constexpr auto kPause = std::chrono::milliseconds(50);

}  // namespace

std::optional<uint64_t> MeasureRow(Store* store, const TablePtr& table, const std::string& key,
                                   TimeUs now) {
  ScanSpec spec;
  spec.ranges = {{key, key + '\0'}};
  spec.now = now;
  const std::unique_ptr<RowScan> scan = store->Scan(table, spec);
  const Result<bool> found = scan->Next();
  if (!found) return std::nullopt;
  if (!*found) return 0;
  uint64_t bytes = 0;
  for (const CellView& cell : scan->row().cells) bytes += BytesOf({&cell.value, 1});
  return bytes;
}

RowMeasurer::RowMeasurer(RowSizes* sizes, Store* store, const Clock* clock)
    : sizes_(*sizes), store_(*store), clock_(*clock) {
  sizes_.OnDue([this] {
    {
      const std::lock_guard lock(mutex_);
      due_ = true;
    }
    changed_.notify_all();
  });
  thread_ = std::thread([this] { Run(); });
}

RowMeasurer::~RowMeasurer() { Stop(); }

void RowMeasurer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RowMeasurer::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || due_; });
    due_ = false;
    lock.unlock();
    const auto row = sizes_.TakeToMeasure();
    if (row) sizes_.Measured(*row, MeasureRow(&store_, row->table, row->key, clock_.Now()));
    lock.lock();
    if (!row) continue;
    due_ = true;
    changed_.wait_for(lock, kPause, [this] { return stopping_; });
  }
}

}  // namespace tallyd

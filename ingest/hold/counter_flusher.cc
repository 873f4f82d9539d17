#include "ingest/hold/counter_flusher.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <thread>

namespace tallyd {
namespace {

constexpr std::chrono::milliseconds kLook(50);
constexpr std::chrono::milliseconds kLookAfterFailure(1000);
constexpr int kTriesAtEnd = 60;

}  // namespace

void CounterFlusher::Start() {
  thread_.Start(kLook, [this] { return Flush(false) ? kLook : kLookAfterFailure; });
}

void CounterFlusher::Stop() {
  if (!thread_.Stop()) return;
  // The store may be busy with what came last, or with opening its files again.
  for (int tries = 0; !Flush(true) && tries < kTriesAtEnd; ++tries) {
    std::this_thread::sleep_for(kLook);
  }
  if (counters_.rows() > 0) {
    spdlog::error("{} rows of counters that were held could not be written, and are lost",
                  counters_.rows());
  }
}

bool CounterFlusher::Flush(bool all) {
  bool all_written = true;
  for (std::shared_ptr<HeldInterval>& interval : counters_.TakeEnded(clock_.Now(), all)) {
    auto batch = store_.NewBatch();
    HeldCounters::PutRows(*interval, batch.get());
    const Status written = batch->empty() ? Status() : store_.Commit(std::move(batch));
    const bool is_gone = !written && written.error().code() == ErrorCode::kConflict;
    if (written || is_gone) {
      if (is_gone)
        spdlog::warn("counters that were held are dropped: {}", written.error().message());
      counters_.Forget(*interval);
    } else {
      spdlog::debug("counters are still held: {}", written.error().message());
      counters_.GiveBack(std::move(interval));
      all_written = false;
    }
  }
  return all_written;
}

}  // namespace tallyd

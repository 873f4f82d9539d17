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
  for (const std::shared_ptr<HeldInterval>& interval : counters_.TakeEnded(clock_.Now(), all)) {
    const TableInfo& held_of = HeldCounters::TableOf(*interval);
    const TablePtr table = store_.FindTable(held_of.name);
    const bool is_gone = table == nullptr || table->id != held_of.id;
    const Status written = is_gone ? Status() : Write(*interval, *table);
    if (written) {
      if (is_gone) spdlog::warn("counters of {} are dropped: the table is gone", held_of.name);
      counters_.Forget(*interval);
    } else {
      spdlog::debug("counters are still held: {}", written.error().message());
      all_written = false;
    }
  }
  return all_written;
}

// A removal takes what is held when it is durable. One that commits from now on refuses the batch
// (RowWatch), which is made anew without what it took; and whatever committed before has done so
// when the next commit, of nothing, is answered.
Status CounterFlusher::Write(const HeldInterval& interval, const TableInfo& table) {
  const std::shared_ptr<RowWatch> watch = store_.WatchRows(table, kMaxTimeUs + 1);
  if (Status before = store_.Commit(store_.NewBatch()); !before) return before;
  std::unique_ptr<Batch> batch = store_.NewBatch();
  HeldCounters::PutRows(interval, table, batch.get());
  if (batch->empty()) return {};
  return store_.CommitUnlessTouched(std::move(batch), watch);
}

}  // namespace tallyd

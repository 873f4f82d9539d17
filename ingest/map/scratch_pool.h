// ScratchPool: what one mapper works with batch by batch, so that its memory, and what its renderer
// remembers of the schema, serves one batch after the other. Thread-safe; what is out is of one
// thread.
#ifndef TALLYD_INGEST_MAP_SCRATCH_POOL_H_
#define TALLYD_INGEST_MAP_SCRATCH_POOL_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ingest/map/row_renderer.h"
#include "storage/batch_counts.h"

namespace tallyd {

struct MapScratch {
  RowRenderer renderer;
  BatchCounts counts;
};

class ScratchPool {
 public:
  std::unique_ptr<MapScratch> Take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<MapScratch>();
    std::unique_ptr<MapScratch> scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void GiveBack(std::unique_ptr<MapScratch> scratch) {
    if (scratch->renderer.keeps_much() || scratch->counts.keeps_much()) return;
    scratch->renderer.Begin();  // Nothing that it views outlives the batch.
    scratch->counts.Clear();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<MapScratch>> idle_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_SCRATCH_POOL_H_

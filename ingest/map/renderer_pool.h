// RendererPool: the renderers of one mapper, so that their memory, and what they remember of the
// schema, serves one batch after the other. Thread-safe; one that is out is of one thread.
#ifndef TALLYD_INGEST_MAP_RENDERER_POOL_H_
#define TALLYD_INGEST_MAP_RENDERER_POOL_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ingest/map/row_renderer.h"

namespace tallyd {

class RendererPool {
 public:
  std::unique_ptr<RowRenderer> Take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<RowRenderer>();
    std::unique_ptr<RowRenderer> renderer = std::move(idle_.back());
    idle_.pop_back();
    return renderer;
  }
  void GiveBack(std::unique_ptr<RowRenderer> renderer) {
    if (renderer->keeps_much()) return;
    renderer->Begin();  // Nothing that it views outlives the batch.
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(renderer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RowRenderer>> idle_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_RENDERER_POOL_H_

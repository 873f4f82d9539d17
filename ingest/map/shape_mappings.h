// ShapeMappings: what becomes of the events of interned shapes, compiled once for each. A mapping
// is found by its shape's number, without a lock and without a walk through memory that events
// which change their shape each time would wait for; by the shape's address where shapes of two
// registries have one number. Mappings stay as long as this. Thread-safe.
#ifndef TALLYD_INGEST_MAP_SHAPE_MAPPINGS_H_
#define TALLYD_INGEST_MAP_SHAPE_MAPPINGS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "ingest/decode/shape.h"
#include "ingest/decode/superset_learner.h"
#include "ingest/map/shape_mapping.h"

namespace tallyd {

class ShapeMappings {
 public:
  // REQUIRES, of each shape: it is interned, and outlives this. Null: it has none yet.
  const ShapeMapping* Find(const Shape& shape) {
    const Chunk* const chunk = ChunkOf(shape).load(std::memory_order_acquire);
    if (chunk != nullptr) [[likely]] {
      const ShapeMapping* const last =
          (*chunk)[shape.number % kChunk].load(std::memory_order_acquire);
      if (last != nullptr && last->shape == &shape) [[likely]] {
        return last;
      }
    }
    return FindByAddress(shape);
  }
  // The mapping of its shape from now on: this one, or the one that another thread has added.
  const ShapeMapping& Add(std::unique_ptr<const ShapeMapping> mapping);

 private:
  static constexpr size_t kChunk = 64;
  static constexpr size_t kNumbers = ShapeRegistry::kMaxShapes + SupersetLearner::kMaxSupersets;
  static constexpr size_t kChunks = (kNumbers + kChunk - 1) / kChunk;

  // Of each number the mapping that was looked for last.
  using Chunk = std::array<std::atomic<const ShapeMapping*>, kChunk>;

  std::atomic<Chunk*>& ChunkOf(const Shape& shape) {
    return chunks_[shape.number / kChunk % kChunks];
  }
  const ShapeMapping* FindByAddress(const Shape& shape);

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  std::shared_mutex mutex_;
  std::deque<Chunk> owned_;  // Guarded by mutex_, like the next. Their addresses stay.
  std::unordered_map<const Shape*, std::unique_ptr<const ShapeMapping>> by_address_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_SHAPE_MAPPINGS_H_

#include "ingest/map/shape_mappings.h"

#include <mutex>
#include <utility>

namespace tallyd {

const ShapeMapping* ShapeMappings::FindByAddress(const Shape& shape) {
  const std::shared_lock lock(mutex_);
  const auto found = by_address_.find(&shape);
  if (found == by_address_.end()) return nullptr;
  // There: Add has seen to it.
  Chunk& chunk = *ChunkOf(shape).load(std::memory_order_acquire);
  chunk[shape.number % kChunk].store(found->second.get(), std::memory_order_release);
  return found->second.get();
}

const ShapeMapping& ShapeMappings::Add(std::unique_ptr<const ShapeMapping> mapping) {
  const Shape& shape = *mapping->shape;
  const std::unique_lock lock(mutex_);
  const ShapeMapping& added = *by_address_.try_emplace(&shape, std::move(mapping)).first->second;
  std::atomic<Chunk*>& chunk = ChunkOf(shape);
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    chunk.store(&owned_.emplace_back(), std::memory_order_release);
  }
  return added;
}

}  // namespace tallyd

#include "api/context.h"

namespace tallyd {

ShapeRegistry& StreamShapes::Of(std::string_view stream) {
  const std::lock_guard lock(mutex_);
  auto found = registries_.find(stream);
  if (found == registries_.end()) {
    found = registries_.emplace(std::string(stream), std::make_unique<ShapeRegistry>()).first;
  }
  return *found->second;
}

}  // namespace tallyd

#include "api/context.h"

#include <fmt/format.h>

#include "config/values/glob.h"

namespace tallyd {
namespace {

// So many names are all told; of more the nearest are.
constexpr size_t kToldNames = 10;

}  // namespace

Result<const Stream*> FindStream(const Schema& schema, std::string_view name) {
  if (const Stream* stream = schema.FindStream(name)) return stream;
  std::vector<std::string> names;
  for (const Stream& stream : schema.streams) names.push_back(stream.name);
  const bool all = names.size() <= kToldNames;
  return Error(ErrorCode::kNotFound,
               fmt::format("there is no stream '{}'; {}: {}", name,
                           all ? "the streams are" : "the nearest are",
                           fmt::join(all ? names : NearestNames(name, names), ", ")));
}

ShapeRegistry& StreamShapes::Of(std::string_view stream) {
  const std::lock_guard lock(mutex_);
  auto found = registries_.find(stream);
  if (found == registries_.end()) {
    found = registries_.emplace(std::string(stream), std::make_unique<ShapeRegistry>()).first;
  }
  return *found->second;
}

}  // namespace tallyd

#include "service/live_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/values/glob.h"

namespace tallyd {
namespace {

// So many names are all told; of more the nearest are.
constexpr size_t kToldNames = 10;

// Of a stream: its own, and those of its tables.
ShapeRegistry::TimeFields TimeFieldsOf(const Schema& schema, const Stream& stream) {
  ShapeRegistry::TimeFields fields = {stream.time_field};
  for (const size_t index : stream.tables) {
    const std::string& field = schema.tables[index].time_field;
    if (std::ranges::count(fields, field) == 0) fields.push_back(field);
  }
  return fields;
}

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

void LiveSchema::Set(std::shared_ptr<const SchemaSnapshot> snapshot) {
  if (snapshot != nullptr) {
    for (const Stream& stream : snapshot->schema->streams) {
      ShapesOf(stream.name).SetTimeFields(TimeFieldsOf(*snapshot->schema, stream));
    }
  }
  std::atomic_store(&snapshot_, std::move(snapshot));
}

ShapeRegistry& LiveSchema::ShapesOf(std::string_view stream) {
  const std::lock_guard lock(mutex_);
  auto found = shapes_.find(stream);
  if (found == shapes_.end()) {
    found = shapes_.emplace(std::string(stream), std::make_unique<ShapeRegistry>()).first;
  }
  return *found->second;
}

}  // namespace tallyd

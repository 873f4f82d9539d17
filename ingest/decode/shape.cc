#include "ingest/decode/shape.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tallyd {
namespace {

// What all interned names may take together: fields that do not recur must not fill the memory.
constexpr size_t kMaxInternedBytes = 32u << 20;

uint64_t HashOf(std::span<const std::string_view> fields) {
  XXH64_hash_t hash = fields.size();
  for (std::string_view field : fields) {
    hash = XXH3_64bits_withSeed(field.data(), field.size(), hash);
  }
  return hash;
}

}  // namespace

std::optional<uint32_t> Shape::Find(std::string_view field) const {
  const auto found = std::ranges::find(fields, field);
  if (found == fields.end()) return std::nullopt;
  return static_cast<uint32_t>(found - fields.begin());
}

const Shape* ShapeRegistry::Intern(std::span<const std::string_view> fields) {
  const uint64_t hash = HashOf(fields);
  std::lock_guard lock(mutex_);
  auto [begin, end] = shapes_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (std::ranges::equal(it->second->fields, fields)) return it->second.get();
  }
  size_t bytes = 0;
  for (std::string_view field : fields) bytes += sizeof(std::string) + field.size();
  if (shapes_.size() >= kMaxShapes || bytes_ + bytes > kMaxInternedBytes) return nullptr;
  auto shape = std::make_unique<Shape>();
  shape->fields.assign(fields.begin(), fields.end());
  shape->interned = true;
  bytes_ += bytes;
  return shapes_.emplace(hash, std::move(shape))->second.get();
}

}  // namespace tallyd

#include "ingest/decode/field_name.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

namespace tallyd {
namespace {

uint64_t Seed() {
  static const uint64_t seed = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  return seed;
}

}  // namespace

size_t FieldNameHash::operator()(std::string_view name) const {
  return XXH3_64bits_withSeed(name.data(), name.size(), Seed());
}

}  // namespace tallyd

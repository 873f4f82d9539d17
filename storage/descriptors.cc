#include "storage/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace tallyd {
namespace {

constexpr uint64_t kMostTables = 1000;
constexpr uint64_t kMostBlockFiles = 96;
constexpr uint64_t kMostOthers = 64;
constexpr uint64_t kUsualLimit = 1024;

}  // namespace

// Each has a part of a small limit, and of a large one as much as is of use.
Descriptors DivideDescriptors(uint64_t limit) {
  Descriptors parts;
  parts.limit = limit;
  parts.tables = std::min(limit / 4, kMostTables);
  parts.block_files = std::min(limit / 8, kMostBlockFiles);
  parts.other_files = std::min(limit / 4, kMostOthers);
  parts.other = std::min(limit / 8, kMostOthers);
  parts.connections = limit - parts.store() - parts.other;
  return parts;
}

Descriptors DescriptorsOfProcess() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return DivideDescriptors(known ? limit.rlim_cur : kUsualLimit);
}

}  // namespace tallyd

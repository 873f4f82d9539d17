#include "storage/leveldb/seal/merge_policy.h"

#include <bit>

namespace tallyd {
namespace {

// So many files of about one size make one of the next size.
constexpr size_t kFan = 6;
constexpr size_t kManyFiles = 4 * kFan;
constexpr uint64_t kLeastTierBytes = 64u << 10;
constexpr uint64_t kMaxMergeBytes = uint64_t{2} << 30;

// Files of one tier differ in size by less than four times.
unsigned TierOf(const BlockFilePtr& file) {
  return static_cast<unsigned>(std::bit_width(file->info().bytes / kLeastTierBytes) + 1) / 2;
}

uint64_t BytesOf(const std::vector<BlockFilePtr>& files) {
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : files) bytes += file->info().bytes;
  return bytes;
}

}  // namespace

std::vector<BlockFilePtr> ChooseMerge(const std::vector<BlockFilePtr>& window) {
  for (size_t begin = 0; begin < window.size();) {
    size_t end = begin + 1;
    while (end < window.size() && TierOf(window[end]) == TierOf(window[begin])) ++end;
    const std::vector<BlockFilePtr> alike(window.begin() + static_cast<std::ptrdiff_t>(begin),
                                          window.begin() + static_cast<std::ptrdiff_t>(end));
    if (alike.size() >= kFan && BytesOf(alike) <= kMaxMergeBytes) return alike;
    begin = end;
  }
  if (window.size() < kManyFiles) return {};
  // Sizes that alternate never come to be alike: the cheapest neighbours then.
  std::vector<BlockFilePtr> cheapest;
  for (size_t begin = 0; begin + kFan <= window.size(); ++begin) {
    const auto at = window.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<BlockFilePtr> candidate(at, at + static_cast<std::ptrdiff_t>(kFan));
    if (cheapest.empty() || BytesOf(candidate) < BytesOf(cheapest)) cheapest = candidate;
  }
  return BytesOf(cheapest) <= kMaxMergeBytes ? cheapest : std::vector<BlockFilePtr>();
}

std::vector<BlockFilePtr> ChooseWholeMerge(const std::vector<BlockFilePtr>& window,
                                           uint64_t up_to) {
  std::vector<BlockFilePtr> chosen;
  for (const BlockFilePtr& file : window) {
    if (file->info().sequence > up_to) break;
    if (BytesOf(chosen) + file->info().bytes > kMaxMergeBytes) {
      if (chosen.size() > 1) break;
      chosen.clear();
    }
    chosen.push_back(file);
  }
  return chosen;
}

}  // namespace tallyd

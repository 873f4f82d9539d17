#include "storage/leveldb/seal/merge_policy.h"

#include <algorithm>
#include <numeric>

namespace tallyd {
namespace {

// So many that are never alike are too many all the same.
constexpr size_t kManyFiles = 3 * kMergeFan;
// Files of one size differ by less than this factor; smaller ones than kSmallBytes are all alike.
constexpr uint64_t kAlike = 3;
constexpr uint64_t kSmallBytes = 256u << 10;

// The places of the files that may be merged, smallest first.
std::vector<size_t> Mergeable(std::span<const uint64_t> sizes) {
  std::vector<size_t> places(sizes.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::erase_if(places, [&](size_t place) { return sizes[place] >= kTopFileBytes; });
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return sizes[a] < sizes[b]; });
  return places;
}

// As many of the first as are less than `limit` in size and fit into one merge.
std::vector<size_t> Take(std::span<const uint64_t> sizes, std::span<const size_t> from,
                         uint64_t limit) {
  std::vector<size_t> taken;
  uint64_t bytes = 0;
  for (const size_t place : from) {
    bytes += sizes[place];
    if (sizes[place] >= limit || bytes > kMaxMergeBytes || taken.size() == kMaxMergeFiles) break;
    taken.push_back(place);
  }
  return taken;
}

}  // namespace

std::vector<size_t> ChooseMerge(std::span<const uint64_t> sizes, bool patient) {
  const std::vector<size_t> places = Mergeable(sizes);
  const std::span<const size_t> all(places);
  for (size_t begin = 0; begin + kMergeFan <= places.size(); ++begin) {
    const uint64_t least = std::max(sizes[places[begin]], kSmallBytes / kAlike);
    std::vector<size_t> alike = Take(sizes, all.subspan(begin), least * kAlike);
    const bool waits = patient && least < kSoonManyBytes;
    if (alike.size() >= (waits ? kMaxMergeFiles : kMergeFan)) return alike;
  }
  if (places.size() < (patient ? kManyFiles + kMaxMergeFiles : kManyFiles)) return {};
  return Take(sizes, all.first(kMergeFan), kTopFileBytes);
}

std::vector<size_t> ChooseWholeMerge(std::span<const uint64_t> sizes) {
  const std::vector<size_t> places = Mergeable(sizes);
  return Take(sizes, places, kTopFileBytes);
}

}  // namespace tallyd

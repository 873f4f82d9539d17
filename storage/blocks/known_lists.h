// KnownLists: what a block being built knows of the lists of columns that came, each under an
// identity (a pointer that stands for it): the columns' numbers in the block, and the list's. A
// look is two loads while no two of the identities share a place, as few do; else a hash. Not
// thread-safe.
#ifndef TALLYD_STORAGE_BLOCKS_KNOWN_LISTS_H_
#define TALLYD_STORAGE_BLOCKS_KNOWN_LISTS_H_

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tallyd {

class KnownLists {
 public:
  static constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

  struct List {
    const void* identity = nullptr;
    std::vector<uint32_t> columns;  // Those that had no value yet are unknown.
    uint32_t number = kUnknown;
  };

  // The list of that identity, which has `size` columns, all unknown if it is new, as it always is
  // where the identity is null. Valid until the next call.
  List* Find(size_t size, const void* identity) {
    if (identity == nullptr) return Begin(size, nullptr, &unnamed_);
    uint32_t& place = recent_[RecentPlace(identity)];
    if (place >= count_ || lists_[place].identity != identity) place = PlaceOf(size, identity);
    return &lists_[place];
  }
  void Clear();

 private:
  // Neighbours mostly have few lists, or some in turn, as where a column is a quarter of an hour.
  static constexpr size_t kRecent = 256;

  static size_t RecentPlace(const void* identity) {
    const auto bits = reinterpret_cast<uintptr_t>(identity);
    return (bits >> 4 ^ bits >> 12) % kRecent;
  }
  static List* Begin(size_t size, const void* identity, List* list);
  uint32_t PlaceOf(size_t size, const void* identity);

  std::vector<List> lists_;  // The first count_ are in use.
  uint32_t count_ = 0;
  boost::unordered_flat_map<const void*, uint32_t> places_;
  // By RecentPlace, where in lists_ the last of these was; it may be another one's by now.
  std::array<uint32_t, kRecent> recent_{};
  List unnamed_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_KNOWN_LISTS_H_

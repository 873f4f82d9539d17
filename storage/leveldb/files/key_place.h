// KeyPlaceSorter: places of entries, sorted by numbers that stand for bytes of their keys. Not
// thread-safe; it keeps its memory.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_KEY_PLACE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_KEY_PLACE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tallyd {

// Small, as sorting moves it about.
struct KeyPlace {
  // Until it is sorted, a number that sorts like some bytes of the key.
  uint64_t head = 0;
  uint32_t entry = 0;
};

// Heads that differ in no more bits are sorted by digits, where there are many.
inline constexpr unsigned kMostDigitizedBits = 44;

class KeyPlaceSorter {
 public:
  // By heads, those of one head in any order. `differing` has at least the bits in which some of
  // them differ. Heads may become other numbers, which are equal, less and greater as these were.
  void Sort(std::span<KeyPlace> places, uint64_t differing);

 private:
  void SortByDigits(std::span<KeyPlace> places, unsigned bits);

  std::vector<KeyPlace> spare_;
  std::vector<uint32_t> counts_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_KEY_PLACE_H_

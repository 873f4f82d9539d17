#include "storage/blocks/block_sequences.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "storage/blocks/int_codec.h"
#include "storage/bytes/coding.h"

namespace tallyd {

void AppendSequences(std::span<const uint64_t> sequences, std::string* out) {
  std::vector<uint64_t> distinct;
  std::ranges::unique_copy(sequences, std::back_inserter(distinct));
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  PutVarint(out, distinct.size());
  uint64_t before = 0;
  for (const uint64_t sequence : distinct) {
    PutVarint(out, sequence - before);
    before = sequence;
  }
  if (distinct.size() == 1) return;
  std::vector<int64_t> places;
  places.reserve(sequences.size());
  for (const uint64_t sequence : sequences) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), sequence);
    places.push_back(place - distinct.begin());
  }
  AppendInts(places, out);
}

}  // namespace tallyd

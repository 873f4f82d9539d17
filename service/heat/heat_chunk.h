// HeatChunk: what was counted of one table in up to about an hour: ranges of row keys, and for each
// minute how many rows of each range were touched. It is how heat maps are kept: encoded, as a memo
// of the store. Plain values.
#ifndef TALLYD_SERVICE_HEAT_HEAT_CHUNK_H_
#define TALLYD_SERVICE_HEAT_HEAT_CHUNK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"

namespace tallyd {

// So many ranges at most has a chunk, and an answer.
inline constexpr size_t kMaxHeatRanges = 1000;

struct HeatCell {
  uint32_t range = 0;  // Into HeatChunk::ranges.
  uint32_t rows = 0;
  uint32_t at_end = 0;  // Those of them that were the newest of their prefix.
  friend bool operator==(const HeatCell&, const HeatCell&) = default;
};

struct HeatMinute {
  int64_t minute = 0;  // Since the epoch.
  std::vector<HeatCell> cells;
  friend bool operator==(const HeatMinute&, const HeatMinute&) = default;
};

struct HeatChunk {
  // True: the ranges follow each other without a gap. False: each is one prefix.
  bool is_partition = false;
  std::vector<KeyRange> ranges;
  std::vector<HeatMinute> minutes;  // A minute may be there more than once, as the clock goes.
  friend bool operator==(const HeatChunk&, const HeatChunk&) = default;
};

// Merges neighbours, the lightest first, until there are at most `most` ranges. Ranges become
// sorted by their starts.
void Coarsen(HeatChunk* chunk, size_t most);

// As bytes, compressed; at most `most_bytes`, for which neighbours are merged if need be.
std::string EncodeChunk(HeatChunk chunk, size_t most_bytes);
// kCorruption where the bytes are none.
Result<HeatChunk> DecodeChunk(std::string_view bytes);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_HEAT_HEAT_CHUNK_H_

// HeatChart: rows by key range and minute, for an answer; and ChartMaker, which makes one of chunks
// that were counted over other ranges. It sees every chunk twice, so that no more than one of them
// need be in memory:
//
//   ChartMaker maker(first_minute, last_minute);
//   for each chunk: maker.Learn(chunk);
//   maker.Arrange();
//   for each chunk: maker.Count(chunk);
//   HeatChart chart = std::move(maker).Take();
//
// Where whoever asks is told of some ranges only, everything is as if there were no others; a chunk
// whose ranges follow each other was cut by the load of all, and is left out.
//
// Where all chunks have prefixes, and there are not too many, these are the chart's ranges, and
// every count is exact. Elsewhere neighbours are merged, the lightest first, and what a chunk
// counted in a range that the chart divides stands where that range begins. Not thread-safe.
#ifndef TALLYD_SERVICE_HEAT_HEAT_CHART_H_
#define TALLYD_SERVICE_HEAT_HEAT_CHART_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "service/heat/heat_chunk.h"

namespace tallyd {

struct HeatChart {
  bool is_partition = false;  // The ranges follow each other without a gap.
  std::vector<KeyRange> ranges;
  int64_t first_minute = 0;       // Since the epoch.
  size_t minutes = 0;             // From the first one on, without a gap.
  std::vector<uint32_t> rows;     // Of range r in minute m: [r * minutes + m].
  std::vector<uint64_t> totals;   // By range.
  std::vector<uint64_t> at_ends;  // By range: rows that were the newest of their prefix.
};

class ChartMaker {
 public:
  // Whether a range may be told of; empty: all may.
  using IsTold = std::function<bool(const KeyRange& range)>;
  // Minutes outside are left out; those before the first that has rows, too.
  ChartMaker(int64_t first_minute, int64_t last_minute, IsTold is_told = {})
      : first_minute_(first_minute), last_minute_(last_minute), is_told_(std::move(is_told)) {}

  void Learn(const HeatChunk& chunk);
  void Arrange();
  void Count(const HeatChunk& chunk);
  HeatChart Take() && { return std::move(chart_); }

 private:
  struct Piece {
    std::string end;
    uint64_t rows = 0;
  };

  bool Contains(int64_t minute) const { return first_minute_ <= minute && minute <= last_minute_; }
  size_t PlaceOf(const std::string& start) const;
  std::vector<bool> ToldOf(const HeatChunk& chunk) const;

  const int64_t first_minute_;
  const int64_t last_minute_;
  const IsTold is_told_;
  std::map<std::string, Piece> pieces_;  // By start; those with rows.
  bool any_ = false;
  int64_t first_seen_ = 0;
  int64_t last_seen_ = 0;
  HeatChart chart_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_HEAT_HEAT_CHART_H_

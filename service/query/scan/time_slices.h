// TimeSlices: the time of a query in slices that follow each other, each with about as many entries
// as whoever sorts them can hold. By the indexes of the store, which tell for files and blocks, not
// for single entries: a slice may have more, and whoever has taken a part of one says so.
//
//   TimeSlices slices(input, time, descending);
//   while (!slices.done()) { Result<TimeRange> slice = slices.Next(most); ...; slices.Took(n); }
//
// Not thread-safe. Blocks on the disk.
#ifndef TALLYD_SERVICE_QUERY_SCAN_TIME_SLICES_H_
#define TALLYD_SERVICE_QUERY_SCAN_TIME_SLICES_H_

#include <cstdint>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/time.h"
#include "service/query/scan/part_scan.h"

namespace tallyd {

class TimeSlices {
 public:
  // The input outlives it. `descends`: the latest slice comes first.
  TimeSlices(const ScanInput& input, const TimeRange& time, bool descends);

  bool done() const { return left_.is_empty(); }
  // The next slice, never empty. REQUIRES: !done().
  Result<TimeRange> Next(uint64_t most_entries);
  // How many entries the last slice had: the next ones are judged by it.
  void Took(uint64_t entries);
  // What the last slice had from this time on (before it and at it, where the latest come first)
  // is to come again.
  void GoBackTo(TimeUs time);

 private:
  Result<uint64_t> EntriesIn(int64_t width);
  // From the end at which they begin.
  TimeRange Slice(int64_t width) const;

  const ScanInput& input_;
  const bool descends_;
  TimeRange left_;
  std::vector<KeyRange> hull_;  // One, from the first key of the query to its last.
  int64_t width_ = 0;           // Of the last slice; 0: there was none, or all that is left.
  uint64_t expected_ = 0;       // Entries of it.
  double share_ = 1;            // Of what indexes tell, how much is really there.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_TIME_SLICES_H_

// TableSample: what one daemon knows of a table's rows without asking for them: where the service
// says that its bytes lie (SampleRowKeys), and a sample of the rows that were read and written
// here. A row is in the sample by a hash of its key, so that one that is seen a hundred times
// counts once, and each stands for as many.
//
//   if (sample.Wants(key)) sample.Take(key, seen);   // of each row that passes
//   ScanEstimate about = sample.Estimate(ranges, cells, oldest);
//
// An estimate is one: rows that nobody has seen yet are told by the service's bytes alone, minutes
// late. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_READ_TABLE_SAMPLE_H_
#define TALLYD_STORAGE_BIGTABLE_READ_TABLE_SAMPLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/time.h"
#include "storage/scan.h"

namespace tallyd {

// Of a row, as far as it was seen.
struct SeenRow {
  TimeUs first = 0;  // Of its cells; `last` is in it.
  TimeUs last = 0;
  uint64_t entries = 1;  // Times that it has.
  uint64_t bytes = 0;
};

class TableSample {
 public:
  // Keys in order, each with the bytes before it; of the last, "" is the end of the table.
  using Places = std::vector<std::pair<std::string, uint64_t>>;

  // Some instructions: most rows are not in the sample.
  bool Wants(std::string_view key) const {
    return HashOf(key) >> kHashShift <= threshold_.load(std::memory_order_relaxed);
  }
  // REQUIRES: Wants(key). `is_new`: an entry that was written, not a row as it was read.
  void Take(std::string_view key, const SeenRow& seen, bool is_new);
  // These rows are gone.
  void Forget(const KeyRange& rows);

  void SetPlaces(Places places);
  // Somebody estimated since SetPlaces.
  bool was_asked() const { return was_asked_; }
  bool has_places() const { return has_places_; }

  // Rows whose last cell is older than `oldest` have expired.
  ScanEstimate Estimate(std::span<const KeyRange> ranges, const TimeRange& cells, TimeUs oldest);
  // Cuts the range at keys of the service's, into parts of about equal bytes, none of much less
  // than that many; or does not.
  std::vector<KeyRange> Split(const KeyRange& range, size_t parts, uint64_t least_entries) const;

 private:
  static constexpr int kHashShift = 1;  // So that a threshold of all ones takes every row.
  static uint64_t HashOf(std::string_view key);
  struct Spread;

  uint64_t BytesOfRow() const;
  double BytesIn(std::span<const KeyRange> ranges) const;
  double RowsOfOne() const;

  mutable std::mutex mutex_;
  std::map<std::string, SeenRow, std::less<>> rows_;  // Guarded by mutex_, like the next.
  Places places_;
  std::atomic<uint64_t> threshold_ = ~uint64_t{0} >> kHashShift;
  std::atomic<bool> has_places_ = false;
  std::atomic<bool> was_asked_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_READ_TABLE_SAMPLE_H_

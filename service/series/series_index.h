// SeriesIndex: the series of one table in memory: all that have a row, and for a while some that
// have none any more. It never lacks one: a series is in it before its first row is committed
// (SeriesWrite), and goes only when a reading begun afterwards found no row of it (SeriesKeeper).
//
// Until it is complete (a start, a reload) it has what was written since, and answers no question.
// Thread-safe.
#ifndef TALLYD_SERVICE_SERIES_SERIES_INDEX_H_
#define TALLYD_SERVICE_SERIES_SERIES_INDEX_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/series/series_key.h"
#include "service/series/series_filter.h"
#include "service/series/series_set.h"
#include "storage/table_info.h"

namespace tallyd {

class SeriesIndex {
 public:
  SeriesIndex(TablePtr table, SeriesKey keys) : table_(std::move(table)), keys_(std::move(keys)) {}
  SeriesIndex(const SeriesIndex&) = delete;
  SeriesIndex& operator=(const SeriesIndex&) = delete;

  const TablePtr& table() const { return table_; }
  const SeriesKey& keys() const { return keys_; }

  // ---- Who writes (series_write.h) ----
  enum class Admitted : uint8_t {
    kKnown,      // It was there.
    kReserved,   // It is there from now on: its number is to be settled (Settle).
    kFull,       // It would be one more than there may be.
    kUncounted,  // Nobody knows yet whether it is new.
  };
  struct Entry {
    Admitted how = Admitted::kKnown;
    SeriesSet::Id id = 0;  // Of kReserved.
  };
  // `most`: 0: as many as come.
  Entry Admit(std::string_view series, uint64_t most);
  // What was reserved stays, or goes unless somebody else reserved it, too. Once for each time that
  // it was.
  void Settle(std::span<const SeriesSet::Id> reserved, bool stays);

  // ---- Who asks ----
  struct Found {
    std::vector<std::string> series;  // In key order.
    bool are_all = true;              // False: there are more than `limit`.
  };
  // The series within the ranges (in key order, disjoint) that match all filters, of which there is
  // one. Nothing: it is not complete. Where no filter has terms each series is looked at.
  std::optional<Found> Match(std::span<const KeyRange> ranges,
                             std::span<const SeriesFilter> filters, size_t limit) const;
  size_t size() const;
  size_t bytes() const;
  bool is_complete() const;

  // ---- The keeper alone (series_keeper.h) ----
  // From a reading of all that is there: what it found is added, and then it is complete.
  void AddFound(std::string_view series);
  void SetComplete();
  // What of the ranges is there is doubted: it goes with DropDoubted unless it is admitted again,
  // or cleared, in between.
  void Doubt(std::span<const KeyRange> ranges);
  void ClearDoubt(std::string_view series);
  // `drop`: false: nothing goes after all. *again: what was admitted meanwhile and not cleared: it
  // stays, and nobody knows whether a row of it was committed.
  void EndDoubt(bool drop, std::vector<KeyRange>* again);

 private:
  // Locks are held for so many series at a time.
  static constexpr SeriesSet::Id kPiece = 4096;

  bool IsSettled(SeriesSet::Id id) const {
    return (pending_.empty() || !pending_.contains(id)) && !IsDoubted(id);
  }
  bool IsDoubted(SeriesSet::Id id) const {
    return id < doubts_.size() && doubts_[id] == DoubtOf::kDoubted;
  }
  void TermsOf(std::string_view series, std::vector<uint64_t>* terms) const;
  bool Matches(std::string_view series, std::span<const SeriesFilter> filters) const;
  void AddIfMatches(SeriesSet::Id id, std::span<const KeyRange> ranges,
                    std::span<const SeriesFilter> filters, size_t limit, Found* found) const;
  std::optional<Found> MatchEach(std::span<const KeyRange> ranges,
                                 std::span<const SeriesFilter> filters, size_t limit) const;
  std::vector<SeriesSet::Id> Candidates(std::span<const SeriesFilter> filters) const;
  std::vector<SeriesSet::Id> WithAny(const SeriesFilter& filter) const;

  const TablePtr table_;
  const SeriesKey keys_;
  mutable std::shared_mutex mutex_;  // Guards what follows.
  SeriesSet set_;
  bool complete_ = false;
  uint64_t numberings_ = 0;  // How often all were numbered anew.
  // By whom a series is reserved that no commit has brought yet.
  boost::unordered_flat_map<SeriesSet::Id, uint32_t> pending_;
  size_t unsettled_ = 0;  // Numbers that somebody holds: none is given anew until they are settled.
  enum class DoubtOf : uint8_t { kNone, kDoubted, kAdmitted };
  std::vector<DoubtOf> doubts_;  // By number; mostly empty.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_INDEX_H_

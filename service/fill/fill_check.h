// FillCheck: whether a table that was filled gives back what its source does: of each event that
// enters it every field that it keeps, by number and by a sum that does not depend on their order.
// Read through the rules of both tables, slice of time by slice; a slice to which somebody wrote
// meanwhile is read again.
//
// Of tables that keep events and tell them apart as their source does: others, and what may have
// expired meanwhile, are not compared. One thread.
#ifndef TALLYD_SERVICE_FILL_FILL_CHECK_H_
#define TALLYD_SERVICE_FILL_FILL_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "service/fill/event_mapper.h"
#include "service/fill/fill_wish.h"
#include "service/query/scan/part_scan.h"

namespace tallyd {

struct FillSum {
  uint64_t values = 0;
  uint64_t sum = 0;
  friend bool operator==(const FillSum&, const FillSum&) = default;
};

class FillCheck {
 public:
  // `pause` is called between pieces of work, and ends the check by an error. All outlive it.
  FillCheck(Store& store, const Clock& clock, const FillWish& wish, int64_t slice_us,
            std::function<Status()> pause);
  ~FillCheck();

  // Why nothing can be compared; empty: it can.
  std::string WhyNot() const;
  // kCorruption: they differ, and nobody wrote meanwhile. REQUIRES: it can be compared.
  Status Run();
  uint64_t values() const { return values_; }  // That were compared.

 private:
  struct Side;

  Result<FillSum> SumOf(Side* side, const TimeRange& time);
  bool TellsWhose(const Side& side, const EventFragment& event, size_t field) const;
  void Add(Side* side, const EventFragment& event, FillSum* sum);
  Status Compare(const TimeRange& slice);

  const FillWish& wish_;
  const int64_t slice_us_;
  const std::function<Status()> pause_;
  std::set<std::string, std::less<>> entity_;  // The fields that tell whose an event is.
  std::unique_ptr<Side> source_;
  std::unique_ptr<Side> target_;
  std::unique_ptr<EventMapper> mapper_;
  std::shared_ptr<RowWatch> watch_;
  uint64_t values_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_FILL_CHECK_H_

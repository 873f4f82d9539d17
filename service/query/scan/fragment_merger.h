// Fragments of one time and entity become events: a fragment joins the first event that it does
// not contradict (SaysOtherwise of one of its fields), else it is an event of its own. The value
// that came first stays.
#ifndef TALLYD_SERVICE_QUERY_SCAN_FRAGMENT_MERGER_H_
#define TALLYD_SERVICE_QUERY_SCAN_FRAGMENT_MERGER_H_

#include <span>
#include <vector>

#include "ingest/unmap/row_reader.h"

namespace tallyd {

// Joins views; nothing is copied.
class FragmentMerger {
 public:
  void Clear() {
    count_ = 0;
    first_is_shared_ = false;
  }
  void Add(std::span<const EventField> fragment);
  // Adds to the one event there is; the first value of a field stays, and its time (latest tables).
  void AddFirstWins(std::span<const EventField> fragment, TimeUs time);
  // An event of its own, which has what the first one has beside it: in place of that one, then.
  // REQUIRES: there is a first, to which nothing is added any more.
  void AddBesideFirst(std::span<const EventField> fragment, TimeUs time);
  void AppendTo(std::vector<std::span<const EventField>>* events) const;
  // Of the same events, of each of their fields. REQUIRES: all were added with times.
  void AppendTimesTo(std::vector<std::span<const TimeUs>>* times) const;

 private:
  std::vector<EventField>& NewEvent();
  void AddMissing(std::span<const EventField> fragment, TimeUs time, size_t event);

  std::vector<std::vector<EventField>> events_;  // The first count_ are valid.
  std::vector<std::vector<TimeUs>> times_;       // By event and field, where times were given.
  size_t count_ = 0;
  bool first_is_shared_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_FRAGMENT_MERGER_H_

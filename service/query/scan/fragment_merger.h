// Fragments of one time and entity become events: a fragment joins the first event that it does
// not contradict (SaysOtherwise of one of its fields), else it is an event of its own. The value
// that came first stays.
#ifndef TALLYD_SERVICE_QUERY_SCAN_FRAGMENT_MERGER_H_
#define TALLYD_SERVICE_QUERY_SCAN_FRAGMENT_MERGER_H_

#include <memory>
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
  // Adds to the one event there is; the first value of a field stays (latest tables).
  void AddFirstWins(std::span<const EventField> fragment);
  // An event of its own, which has what the first one has beside it: in place of that one, then.
  // REQUIRES: there is a first, to which nothing is added any more.
  void AddBesideFirst(std::span<const EventField> fragment);
  void AppendTo(std::vector<std::span<const EventField>>* events) const;

 private:
  std::vector<EventField>& NewEvent();

  std::vector<std::vector<EventField>> events_;  // The first count_ are valid.
  size_t count_ = 0;
  bool first_is_shared_ = false;
};

// The same for events that outlive the rows they came from: text is copied.
class HeldEvents {
 public:
  // Return the bytes that the fragment costs. AddEvent: an event of its own.
  size_t Add(std::span<const EventField> fragment);
  size_t AddEvent(std::span<const EventField> fragment);
  size_t AddFirstWins(std::span<const EventField> fragment);
  void AppendTo(std::vector<std::span<const EventField>>* events) const;
  size_t bytes() const { return bytes_; }

 private:
  size_t Append(std::span<const EventField> fragment, std::vector<EventField>* event);

  std::vector<std::vector<EventField>> events_;
  std::vector<std::unique_ptr<char[]>> texts_;
  size_t bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_FRAGMENT_MERGER_H_

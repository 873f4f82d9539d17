// Place: one of those that a counter counts, taken for as long as it lives. Thread-safe as the
// counter, which outlives it.
#ifndef TALLYD_API_ENDPOINT_PLACE_H_
#define TALLYD_API_ENDPOINT_PLACE_H_

#include <atomic>
#include <cstddef>

namespace tallyd {

class Place {
 public:
  explicit Place(std::atomic<size_t>& taken) : taken_(taken) { ++taken_; }
  ~Place() { --taken_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::atomic<size_t>& taken_;
};

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_PLACE_H_

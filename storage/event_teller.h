// EventTeller: whether what was written to one row at one time is of one event, or of several that
// fell on one cell. It looks at the columns that keep what tells a stream's events apart
// (config/schema/merge_risk.h), a print of the value for each: writes are of different events when
// some such column has two values. One that lacks the column tells nothing: what covered it may be
// gone. Not thread-safe.
#ifndef TALLYD_STORAGE_EVENT_TELLER_H_
#define TALLYD_STORAGE_EVENT_TELLER_H_

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/schema/pattern.h"
#include "config/values/value.h"

namespace tallyd {

// The names of the fields that a serialized cell holds, as hashes; false: it holds none. The engine
// asks only where writes to such a cell meet.
using FieldsOfCell = bool (*)(Serialization how, const Value& cell, std::vector<uint64_t>* names);

// Never 0: that is the print of what is absent. Equal values have equal prints.
inline uint64_t PrintOf(const Value& value) {
  const auto type = static_cast<uint64_t>(value.type());
  uint64_t print = 0;
  if (value.type() >= ValueType::kString) {
    print = XXH3_64bits_withSeed(value.AsView().data(), value.AsView().size(), type);
  } else {
    const uint64_t bits = value.type() == ValueType::kFloat64
                              ? std::bit_cast<uint64_t>(value.AsDouble())
                              : static_cast<uint64_t>(value.bits());
    print = XXH3_64bits_withSeed(&bits, sizeof(bits), type);
  }
  return print | 1;
}

class EventTeller {
 public:
  // `columns`: of each write.
  explicit EventTeller(size_t columns) : columns_(columns) {}

  // Another row or time.
  void Begin() { events_.clear(); }
  // A write, the latest first. True: it is of another event than all before it.
  bool IsAnother(std::span<const uint64_t> prints) {
    if (std::ranges::all_of(prints, [](uint64_t print) { return print == 0; })) return false;
    for (size_t at = 0; at < events_.size(); at += columns_) {
      if (TakeInto(std::span(events_).subspan(at, columns_), prints)) return false;
    }
    const bool is_first = events_.empty();
    if (events_.size() < kMaxEvents * columns_) {
      events_.insert(events_.end(), prints.begin(), prints.end());
    }
    return !is_first;
  }

 private:
  static constexpr size_t kMaxEvents = 256;

  static bool TakeInto(std::span<uint64_t> event, std::span<const uint64_t> prints) {
    for (size_t i = 0; i < event.size(); ++i) {
      if (event[i] != 0 && prints[i] != 0 && event[i] != prints[i]) return false;
    }
    for (size_t i = 0; i < event.size(); ++i) event[i] = event[i] != 0 ? event[i] : prints[i];
    return true;
  }

  const size_t columns_;
  std::vector<uint64_t> events_;  // Of each the prints that are known.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_EVENT_TELLER_H_

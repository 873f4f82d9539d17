// EventSums: how many events there are, and a checksum that does not depend on their order, by
// spans of time, so that a difference can be told from one that comes of what has expired, and is
// told with its place. At most kMaxSpans, which become wider where there would be more.
// Not thread-safe.
#ifndef TALLYD_TOOLS_COPY_EVENT_SUMS_H_
#define TALLYD_TOOLS_COPY_EVENT_SUMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "ingest/text/json.h"

namespace tallyd {

class EventSums {
 public:
  static constexpr size_t kMaxSpans = 2000;

  struct Sum {
    uint64_t events = 0;
    uint64_t digests = 0;  // Their sum modulo 2^64.
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  struct Difference {
    TimeRange time;
    Sum here;
    Sum there;
  };

  EventSums() = default;
  // Empty, with spans to be compared with those of `other`.
  static EventSums LikeThoseOf(const EventSums& other);

  void Add(TimeUs time, uint64_t digest);
  void Remove(TimeUs time, uint64_t digest);

  // Of all events from there on, and of what else lies in the span that `from` is in.
  Sum Total(TimeUs from = 0) const;
  // Where spans with events begin, in order.
  std::vector<TimeUs> Starts() const;
  // The first span that ends behind `from` and has not the same sum in both.
  // REQUIRES: LikeThoseOf.
  std::optional<Difference> FirstDifference(const EventSums& there, TimeUs from) const;

  // The first span that has more events there, or as many of which some are others: what came since
  // these were added up, while what has gone since is none.
  // REQUIRES: LikeThoseOf.
  std::optional<Difference> FirstGrowth(const EventSums& there) const;

  Json ToJson() const;
  static Result<EventSums> OfJson(const Json& json);

 private:
  void Widen();

  int64_t width_us_ = kUsPerDay;
  bool may_widen_ = true;
  std::map<int64_t, Sum> spans_;  // By time / width_us_.
};

// 16 hexadecimal digits.
std::string ChecksumText(uint64_t digests);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_EVENT_SUMS_H_

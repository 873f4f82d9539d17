// Arrivals: the times that events without one get. No time is given twice in a stream, restarts
// included, so no such event falls on the cells of another.
//
// They are those of the clock. Where it is behind the last one given, by `lag_us` at most, they go
// on from that one, a microsecond apart; where it is further behind they follow it, past the spans
// that are noted as given. The spans are kept by stream and committed with the events (a memo,
// storage/batch.h), kMaxSpans of them; of more the nearest are joined, with what lies between.
//
//   ArrivalBlock block(&arrivals, stream, {now, lag_us, least});   // For each request and stream.
//   block.Take(events);         // The first time, of the first event without one.
//   block.Use(end);             // Up to there they were used.
//   block.Note(batch);          // Where the batch is to be submitted: it notes what was used.
//   store.Submit(batch, ...);   // Only then the block may go.
//
// Batches may be committed in another order than their blocks were taken in, so each block under
// way notes under a key of its own, which is free for another once its batch was submitted: of one
// key the last commit has noted the most. What is known is what all keys of the stream have.
#ifndef TALLYD_INGEST_TIMES_ARRIVALS_H_
#define TALLYD_INGEST_TIMES_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/store.h"

namespace tallyd {

// The spans of one stream. Not thread-safe.
class GivenTimes {
 public:
  static constexpr size_t kMaxSpans = 16;

  // The first of `count` times in a row, none of which was given. REQUIRES: count > 0.
  TimeUs Give(TimeUs now, int64_t lag_us, size_t count);
  TimeUs last() const { return last_; }
  // Of what was given last, those from `first` on were not used, and the last before them is
  // `last`. False: others were given since, or their span was joined with another.
  bool GiveBack(TimeUs first, TimeUs end, TimeUs last);

  std::string Encode() const;
  // Adds what was encoded, in whatever order. False: it cannot be read.
  bool Add(std::string_view bytes);

 private:
  struct Span {
    TimeUs first = 0;
    TimeUs last = 0;
  };

  void Insert(Span given);

  std::vector<Span> spans_;  // Ascending, none touches another.
  TimeUs last_ = -1;         // Given last.
  uint64_t given_ = 0;       // How often something was, so that of two states the later is known.
};

class ArrivalBlock;

// Thread-safe. The store outlives it.
class Arrivals {
 public:
  explicit Arrivals(Store* store) : store_(*store) {}
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

 private:
  friend class ArrivalBlock;
  struct OfStream {
    std::mutex mutex;
    bool is_loaded = false;
    GivenTimes given;
    std::vector<bool> keys;  // Whether it is in use.
  };

  OfStream& Of(std::string_view stream);
  // REQUIRES: the mutex of `times`.
  Status Load(std::string_view stream, OfStream* times);

  Store& store_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OfStream>, std::less<>> streams_;  // Guarded by mutex_.
};

// One thread at a time. `arrivals` outlives it.
class ArrivalBlock {
 public:
  struct Terms {
    TimeUs now = 0;
    int64_t lag_us = 0;
    TimeUs least = 0;  // A clock that is before this is wrong.
  };
  ArrivalBlock(Arrivals* arrivals, std::string_view stream, const Terms& terms)
      : arrivals_(*arrivals), stream_(stream), terms_(terms) {}
  // What was not noted is given to others, unless they have later times by now.
  ~ArrivalBlock();
  ArrivalBlock(const ArrivalBlock&) = delete;
  ArrivalBlock& operator=(const ArrivalBlock&) = delete;

  // Once. kUnavailable: the clock is wrong. May read the disk.
  Result<TimeUs> Take(size_t count);
  // Those before `end` are used.
  void Use(TimeUs end) { used_ = end; }
  // Nothing, where none is used.
  void Note(Batch* batch);

 private:
  Arrivals& arrivals_;
  const std::string stream_;
  const Terms terms_;
  Arrivals::OfStream* times_ = nullptr;  // Once something was taken.
  TimeUs first_ = 0;                     // Of what was taken.
  TimeUs used_ = 0;                      // The end of what is used of it.
  TimeUs end_ = 0;
  TimeUs before_ = 0;      // The last one given before them.
  size_t key_ = SIZE_MAX;  // Once something was noted.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_TIMES_ARRIVALS_H_

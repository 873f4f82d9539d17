// CounterFlusher: a thread that writes what tables with `flush` hold (held_counters.h) when an
// interval has ended, and everything when it stops. What cannot be written now (a full disk) stays
// held and is tried again.
#ifndef TALLYD_INGEST_HOLD_COUNTER_FLUSHER_H_
#define TALLYD_INGEST_HOLD_COUNTER_FLUSHER_H_

#include "config/values/repeating_thread.h"
#include "config/values/time.h"
#include "ingest/hold/held_counters.h"
#include "storage/store.h"

namespace tallyd {

class CounterFlusher {
 public:
  // All outlive the flusher.
  CounterFlusher(HeldCounters* counters, Store* store, const Clock* clock)
      : counters_(*counters), store_(*store), clock_(*clock) {}
  ~CounterFlusher() { Stop(); }

  void Start();
  // Writes all that is held; before the store is closed. What the store does not take at once is
  // tried for seconds, and lost then. Nothing if it was not started. Idempotent.
  void Stop();

  // One look, on the caller's thread: no other may work. `all`: also intervals that have not ended.
  // False: something could not be written.
  bool Flush(bool all);

 private:
  Status Write(const HeldInterval& interval, const TableInfo& table);

  HeldCounters& counters_;
  Store& store_;
  const Clock& clock_;
  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_HOLD_COUNTER_FLUSHER_H_

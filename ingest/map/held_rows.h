// HeldRows: what one call of the mapper does with rows of tables that hold their counters in memory
// (`flush`): they get the time of the interval at hand, must be integers, and become increments
// instead of changes of the batch. Not thread-safe.
#ifndef TALLYD_INGEST_MAP_HELD_ROWS_H_
#define TALLYD_INGEST_MAP_HELD_ROWS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "ingest/decode/event_batch.h"
#include "ingest/hold/held_counters.h"
#include "ingest/map/row_renderer.h"

namespace tallyd {

class HeldRows {
 public:
  // Null counters: nothing is held, such tables are like others. They outlive the object.
  HeldRows(HeldCounters* counters, TimeUs now) : counters_(counters), now_(now) {}

  bool Holds(const TableMapping& mapping) const {
    return counters_ != nullptr && mapping.table->flush_us;
  }
  // REQUIRES: it holds the table.
  TimeUs TimeOf(const TableMapping& mapping, TimeUs event) {
    return IntervalOf(mapping)->TimeOf(event);
  }
  // Why rows of the event that is rendered cannot be added up.
  std::optional<Refusal> Check(const RowRenderer& renderer) const;
  // The rows of an event that are to be held.
  void Add(const RowRenderer& renderer);

  uint64_t events() const { return events_; }
  HeldIncrements Take() { return std::move(increments_); }

 private:
  const std::shared_ptr<HeldInterval>& IntervalOf(const TableMapping& mapping);

  HeldCounters* counters_;
  TimeUs now_;
  std::map<const Table*, std::shared_ptr<HeldInterval>> intervals_;
  HeldIncrements increments_;
  uint64_t events_ = 0;  // That had some.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_HELD_ROWS_H_

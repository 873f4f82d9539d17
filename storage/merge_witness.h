// What a store may know beside its rows: which events fell on one cell of a table
// (storage/event_teller.h), and were lost by that. Not every engine looks for them.
#ifndef TALLYD_STORAGE_MERGE_WITNESS_H_
#define TALLYD_STORAGE_MERGE_WITNESS_H_

#include <cstdint>

#include "config/values/time.h"
#include "storage/store.h"

namespace tallyd {

// Of a table: events that fell on a cell of another one.
struct MergedEvents {
  uint64_t count = 0;  // That were met so far.
  bool any = false;    // Whether there ever were some; they may be gone.
  // What was stored before such events were counted, all of it older than this, may have them; 0:
  // nothing was; kNeverWhole: nobody counts them.
  TimeUs unknown_before = 0;
};

// A capability: an engine that looks for such events. Thread-safe.
class MergeWitness {
 public:
  virtual ~MergeWitness() = default;
  virtual MergedEvents MergedIn(const TableInfo& table) const = 0;
  // Whether it looks for them in the table: something tells its events apart that its key lacks.
  virtual bool IsAtRisk(const TableInfo& table) const = 0;
};

inline MergedEvents MergedIn(const Store& store, const TableInfo& table) {
  const MergeWitness* const witness = store.capabilities().merge_witness;
  return witness == nullptr ? MergedEvents{.unknown_before = kNeverWhole}
                            : witness->MergedIn(table);
}
inline bool IsAtRisk(const Store& store, const TableInfo& table) {
  const MergeWitness* const witness = store.capabilities().merge_witness;
  return witness != nullptr && witness->IsAtRisk(table);
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_MERGE_WITNESS_H_

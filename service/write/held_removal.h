// What a removal takes of counters that tables with `flush` still hold in memory
// (ingest/hold/held_counters.h): a removal forgets everything that was answered before it, written
// or not.
//
//   std::vector<HeldRemoval> held;
//   AddHeld(*stored, what, &held);                       // For each delete in the batch.
//   CommitRemoval(&store, &counters, std::move(batch), held);  // Durable, and nothing is held.
#ifndef TALLYD_SERVICE_WRITE_HELD_REMOVAL_H_
#define TALLYD_SERVICE_WRITE_HELD_REMOVAL_H_

#include <memory>
#include <vector>

#include "config/schema/schema.h"
#include "ingest/hold/held_counters.h"
#include "storage/batch.h"
#include "storage/store.h"

namespace tallyd {

// Whether increments of the table may be held: it has `flush`, or is in the file no more and may
// have had it.
bool MayHold(const Schema& schema, const TableInfo& stored);

// What the delete takes of the table's counters.
void AddHeld(const TableInfo& stored, const DeleteSpec& what, std::vector<HeldRemoval>* held);

// Commits the batch; what is held goes with it, or stays if it fails. How many rows that were held
// lost something. An empty batch is committed for the sake of the order.
Result<uint64_t> CommitRemoval(Store* store, HeldCounters* counters, std::unique_ptr<Batch> batch,
                               const std::vector<HeldRemoval>& held);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_HELD_REMOVAL_H_

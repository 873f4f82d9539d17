// TableSamples: the sample of each table, what is written to it, and where the service says that
// its bytes lie. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_READ_TABLE_SAMPLES_H_
#define TALLYD_STORAGE_BIGTABLE_READ_TABLE_SAMPLES_H_

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/read/table_sample.h"
#include "storage/bigtable/wire/client.h"
#include "storage/table_info.h"

namespace tallyd {

class TableSamples {
 public:
  // `client` outlives it.
  explicit TableSamples(BigtableClient* client) : client_(*client) {}

  std::shared_ptr<TableSample> Of(TableId table);
  // Its number is never another's.
  void Drop(TableId table);
  // Before it is submitted.
  void Tell(const BigtableBatch& batch);

  // Asks the service where the table's bytes are, where nobody has before: one call. What it does
  // not answer by then is not known.
  void AskOnce(const TableInfo& table, SteadyTime deadline);
  // Asks again of a table that was estimated meanwhile, at most once a minute: what the service
  // tells is minutes late itself.
  void AskAgain(const TableInfo& table, SteadyTime deadline);

 private:
  struct Known {
    std::shared_ptr<TableSample> sample;
    SteadyTime asked = SteadyTime::min();
  };
  void Ask(const TableInfo& table, TableSample* sample, SteadyTime deadline);
  // Notes that it is asked now. False: it was, less than `wait` ago.
  bool MayAsk(TableId table, std::chrono::seconds wait);

  BigtableClient& client_;
  std::mutex mutex_;
  std::map<TableId, Known> tables_;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_READ_TABLE_SAMPLES_H_

// FoundBatch: a batch that is in the journal, made anew to be finished.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_FOUND_BATCH_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_FOUND_BATCH_H_

#include <memory>
#include <optional>
#include <string>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/catalogue/bigtable_catalogue.h"
#include "storage/bigtable/journal/journal.h"

namespace tallyd {

struct FoundBatch {
  Journal::Mark mark;                    // As it was read: by it the lease is taken.
  std::unique_ptr<BigtableBatch> batch;  // Null: it cannot be read; `lacks` says why.
  TimeUs age_us = 0;
  // What of it must not be sent any more, so that it never is all there.
  std::optional<Error> lacks = {};

  bool may_be_given_up() const { return age_us >= Journal::kGivenUpUs; }
};

// Makes them. Thread-safe.
class BatchFinder {
 public:
  // All outlive it.
  BatchFinder(Journal* journal, BigtableCatalogue* catalogue, WireTables* tables,
              const Clock* clock, int64_t grain_us)
      : journal_(*journal),
        catalogue_(*catalogue),
        tables_(*tables),
        clock_(*clock),
        grain_us_(grain_us) {}

  // Nothing: it is not there any more, or was given up, or somebody else is at it. Rows of tables
  // that are no more are left out.
  Result<std::optional<FoundBatch>> Find(const std::string& key, SteadyTime deadline);

 private:
  Journal& journal_;
  BigtableCatalogue& catalogue_;
  WireTables& tables_;
  const Clock& clock_;
  const int64_t grain_us_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_FOUND_BATCH_H_

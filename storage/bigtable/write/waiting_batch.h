// WaitingBatch: a batch on its way to Bigtable, and what has become of it so far. Those that go
// together are a group (write/batch_writer.h).
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_WAITING_BATCH_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_WAITING_BATCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/write/found_batch.h"
#include "storage/row_store.h"

namespace tallyd {

struct WaitingBatch {
  std::unique_ptr<BigtableBatch> batch;
  CommitDone done;
  SteadyTime deadline;
  std::vector<uint64_t> places = {};  // Of its rows and memos.
  bool goes_alone = false;            // No group is under way beside its own.
  std::vector<RowFailure> failed = {};
  std::optional<Error> error = {};  // Of all of it.
  bool is_counting = false;         // Its claim says so.
  bool has_counted = false;         // Some of it has, or may have.

  std::string journal_key = {};          // Of its row in the journal, while that may be there.
  std::optional<FoundBatch> found = {};  // Where it was found there; its batch is `batch`.
  // Found, and its claim is another's by now: what counts, and the notes, are that one's.
  bool was_taken_over = false;
  SteadyTime counts_until = SteadyTime::max();  // Of its tokens.

  bool is_well() const { return !error && failed.empty(); }
  // Whether the notes behind its rows tell what is so.
  bool has_all() const { return is_well() && !was_taken_over && !(found && found->lacks); }
};
using BatchGroup = std::vector<std::unique_ptr<WaitingBatch>>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_WAITING_BATCH_H_

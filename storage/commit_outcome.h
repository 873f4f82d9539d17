// CommitOutcome: what became of a batch that was submitted (RowStore::Submit). Beside it how
// whoever may block waits for it.
#ifndef TALLYD_STORAGE_COMMIT_OUTCOME_H_
#define TALLYD_STORAGE_COMMIT_OUTCOME_H_

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/table_info.h"

namespace tallyd {

// A row of a batch that was not written, and why.
struct RowFailure {
  TableId table = 0;
  std::string row_key;
  Error error;
};

// Whoever wants to know no more than whether all of it is there takes it as a Status.
class CommitOutcome {
 public:
  CommitOutcome() = default;                                    // All of it is durable.
  CommitOutcome(Status status) : status_(std::move(status)) {}  // NOLINT
  CommitOutcome(Error error) : status_(std::move(error)) {}     // NOLINT
  // Of an engine without whole batches: these of its rows are not there, or nobody knows, and all
  // others are. What was to come behind the rows (NoteOrder) is not there. REQUIRES: some failed.
  static CommitOutcome InPart(std::vector<RowFailure> failed, size_t rows);

  explicit operator bool() const { return status_.has_value(); }
  operator const Status&() const { return status_; }  // NOLINT
  const Status& status() const { return status_; }
  Error error() const { return status_.error(); }  // REQUIRES: it failed.
  // Empty with an error: the batch as a whole, and error() tells what is known of it.
  const std::vector<RowFailure>& failed() const { return failed_; }

 private:
  Status status_;
  std::vector<RowFailure> failed_;
};

inline CommitOutcome CommitOutcome::InPart(std::vector<RowFailure> failed, size_t rows) {
  const Error& first = failed.front().error;
  CommitOutcome outcome(
      Error(first.code(), std::to_string(failed.size()) + " of " + std::to_string(rows) +
                              " rows were not written, the others were: " + first.message()));
  outcome.failed_ = std::move(failed);
  return outcome;
}

// Called once per Submit, from the store's thread or from Submit itself: must not block and must
// not throw. OK: durable (as `sync` promises). kOverloaded: never queued, try again. kNoSpace,
// kUnavailable, kIo: not acknowledged; what failed while it was written may or may not be found
// afterwards, and may be submitted again: plain cells are then written over with themselves.
using CommitDone = std::function<void(CommitOutcome)>;

// Waits for the fate of what `submit` submits. Not from a CommitDone.
inline Status WaitForCommit(const std::function<void(CommitDone)>& submit) {
  // The promise is shared: the store's thread may still be in it when the waiter has gone on.
  auto result = std::make_shared<std::promise<Status>>();
  std::future<Status> committed = result->get_future();
  submit([result](const CommitOutcome& outcome) { result->set_value(outcome.status()); });
  return committed.get();
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_COMMIT_OUTCOME_H_

// Retry: which faults of a call pass, how long to wait for them, and what whoever waits is told in
// the end.
//
//   Retry retry(client.ending(), deadline);
//   do {
//     status = client.GetTable(request, &table, retry.attempt_deadline(attempt_us));
//   } while (retry.MayTryAgain(status));
//   if (!status.ok()) return ErrorOf(status, "table METRIC");
//
// Not thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_RETRY_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_RETRY_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "config/values/result.h"
#include "storage/bigtable/wire/client.h"
#include "storage/bigtable/wire/ending.h"

namespace tallyd {

// Whether what was refused so may be taken when it comes again.
bool IsPassing(const RpcStatus& status);

// Whether what ended so, and not well, may have been done all the same: it was neither refused by
// the service nor is nobody there to be told.
bool MayBeDone(const RpcStatus& status);

// What passes is kUnavailable, and may be tried again. So is what the daemon's own credentials do
// not allow. What the service will not have is kIo, or kNotFound, kConflict (a precondition).
// `what` stands before the service's words.
Error ErrorOf(const RpcStatus& status, std::string_view what);

class Retry {
 public:
  // `cancelled` may be null. Both outlive it.
  Retry(const Ending& ending, SteadyTime deadline, const std::atomic<bool>* cancelled = nullptr);

  SteadyTime deadline() const { return deadline_; }
  bool IsCancelled() const { return cancelled_ != nullptr && *cancelled_; }
  // The end of a try that begins now.
  SteadyTime attempt_deadline(int64_t attempt_us) const;
  // Waits, from 10 ms to a second, each time longer and a little at random, and as long as the
  // service asks for beside that. False at once where the status is no passing fault, or the
  // deadline would be over before the wait is; and soon after it was cancelled or the end began.
  bool MayTryAgain(const RpcStatus& status);
  // Something went forward: the next wait is short again.
  void Progress() { wait_ = kFirstWait; }

 private:
  using Wait = std::chrono::milliseconds;
  static constexpr Wait kFirstWait{10};
  static constexpr Wait kLongestWait{1000};

  bool WaitUntil(SteadyTime when) const;

  const Ending& ending_;
  const SteadyTime deadline_;
  const std::atomic<bool>* const cancelled_;
  Wait wait_ = kFirstWait;
};

// Calls `call(deadline)` until it is answered for good, with the client's deadline.
template <class Call>
RpcStatus CallUntilAnswered(BigtableClient* client, const Call& call) {
  Retry retry(client->ending(), client->NewDeadline());
  RpcStatus ended;
  do {
    ended = call(retry.deadline());
  } while (retry.MayTryAgain(ended));
  return ended;
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_RETRY_H_

// BuildTurn: whose turn it is to build and remove nightly tables, of the daemons that have the same
// store (Claiming): one has it at a time. It is kept for as long as it lives, by a thread. A daemon
// that is killed leaves it to the next one within Claiming::kClaimLease; one that did not reach the
// store for so long has lost it, and must not write any more (IsOver).
//
//   Result<std::unique_ptr<BuildTurn>> turn = BuildTurn::Take(claiming);
//   if (turn && *turn) ...                                    // Null: another daemon has it.
#ifndef TALLYD_SERVICE_NIGHTLY_BUILD_TURN_H_
#define TALLYD_SERVICE_NIGHTLY_BUILD_TURN_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "config/values/repeating_thread.h"
#include "config/values/result.h"
#include "storage/capabilities.h"

namespace tallyd {

class BuildTurn {
 public:
  // Blocks for a call. `claiming` outlives the turn.
  static Result<std::unique_ptr<BuildTurn>> Take(Claiming* claiming);
  ~BuildTurn();
  BuildTurn(const BuildTurn&) = delete;
  BuildTurn& operator=(const BuildTurn&) = delete;

  // Somebody else may have it by now. Thread-safe.
  bool IsOver() const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  BuildTurn(Claiming* claiming, SteadyClock::time_point taken, std::string owner);
  void Keep();

  Claiming& claiming_;
  const Claiming::Held held_;
  std::atomic<SteadyClock::time_point> kept_;  // It lasts for a lease from then on.
  RepeatingThread keeper_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_NIGHTLY_BUILD_TURN_H_

// SealJob: one kind of the sealer's work, by name. The sealer asks its jobs in turn, each for one
// piece of work, on its own thread; a job that fails is asked again later, and holds no other up.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_SEAL_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_SEAL_JOB_H_

#include <algorithm>
#include <chrono>
#include <string_view>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {

enum class Progress : bool { kNone, kSome };

class SealJob {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr Time kNever = Time::max();
  // When to look at what is due `left` from now by a clock that may stand still or be set: after a
  // minute at the latest.
  static Time LookAgain(TimeUs left) {
    // Nanoseconds do not hold what microseconds do: the lesser comes first.
    constexpr std::chrono::microseconds kLatest = std::chrono::minutes(1);
    return std::chrono::steady_clock::now() + std::min(std::chrono::microseconds(left), kLatest);
  }

  virtual ~SealJob() = default;
  virtual std::string_view name() const = 0;
  // Does one piece of work, if there is any. `view` is the state to begin with. Must cost next to
  // nothing where there is none, whatever the number of files.
  virtual Result<Progress> Work(const ViewPtr& view) = 0;
  // When there will be work by the mere passing of time, as the last Work saw it.
  virtual Time next() const { return kNever; }
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_SEAL_JOB_H_

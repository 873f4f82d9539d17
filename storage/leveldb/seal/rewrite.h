// The two ways in which block files are made: from the oldest head, and from other block files, of
// which it says which to take. Both only write files; what they stand for changes when the caller
// commits that, and, of a head, the latest rows that it changed. Of the sealer's thread.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/commit/group_committer.h"
#include "storage/leveldb/files/database.h"

namespace tallyd {

// Pacer: keeps background work to its share of a core.
class Pacer {
 public:
  // `in_a_hurry` tells whether the share does not count.
  Pacer(double share, std::function<bool()> in_a_hurry)
      : share_(share), in_a_hurry_(std::move(in_a_hurry)) {}

  // Sleeps for as long as what was worked since the last call takes to become the share. All calls
  // are of the thread that works, which need not be the one that made this.
  void Pace() {
    const std::chrono::nanoseconds now = Spent();
    if (!spent_) spent_ = now;
    const std::chrono::nanoseconds worked = now - *spent_;
    if (worked < kStep) return;
    spent_ = now;
    if (share_ >= 1 || in_a_hurry_()) return;
    std::this_thread::sleep_for(worked * (1 / share_ - 1));
  }

 private:
  static constexpr std::chrono::nanoseconds kStep = std::chrono::milliseconds(2);

  static std::chrono::nanoseconds Spent() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  const double share_;
  const std::function<bool()> in_a_hurry_;
  std::optional<std::chrono::nanoseconds> spent_;  // By the last call.
};

// Of base: keys and values; an empty value: the record goes.
using Records = std::vector<std::pair<std::string, std::string>>;

struct RewriteInput {
  Database* database = nullptr;
  EngineState* state = nullptr;
  Pacer* pacer = nullptr;
  std::function<bool()> stopping;
  std::function<Status()> yield;  // Called between steps, with nothing locked; its error ends all.
  TimeUs now = 0;                 // By the clock that says what may go from the disk.
  int64_t window_us = 0;          // storage.seal_window
  BlockBounds bounds = {};
};

// What a head becomes.
struct SealedHead {
  uint64_t head = 0;
  HeadNote note;
  uint64_t last_sequence = 0;
  uint64_t entries = 0;
  DroppedCells dropped;
  std::map<TableId, MergesFound> merges;
  std::vector<BlockFilePtr> files;
  Records records;  // For base: the deletes'.
};

// REQUIRES: the lease's view has a head that is older than another.
Result<SealedHead> SealOldestHead(const RewriteInput& input, Lease* lease);

struct MergedFiles {
  std::vector<BlockFilePtr> from;
  std::vector<BlockFilePtr> files;
  uint64_t entries = 0;
  DroppedCells dropped;
  std::map<TableId, MergesFound> merges;
};

// `from`: files of one table and window.
Result<MergedFiles> MergeFiles(const RewriteInput& input, Lease* lease,
                               std::vector<BlockFilePtr> from);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_H_

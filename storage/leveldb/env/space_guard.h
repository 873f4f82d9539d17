// SpaceGuard: keeps a full disk from costing data. Below a floor of free space writes are refused,
// before LevelDB hits the wall; a reserve file, `ballast`, is given up when it does, because
// recovery needs room for what the logs hold; and writes resume once there is room for floor and
// ballast again. Together they take at most 64 MiB, on volumes under 1 GiB a sixteenth; the write
// buffer follows, so that recovery fits the ballast. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_SPACE_GUARD_H_
#define TALLYD_STORAGE_LEVELDB_ENV_SPACE_GUARD_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb_store.h"

namespace tallyd {

// The reserve file, in the store's directory.
inline constexpr char kBallastName[] = "ballast";

// What the configuration comes to on a volume of this size.
struct SpaceBudget {
  uint64_t floor = 0;
  uint64_t ballast = 0;
  uint64_t write_buffer = 0;
};
SpaceBudget PlanSpace(const StorageConfig& config, uint64_t volume_bytes);

class SpaceGuard {
 public:
  // The directory exists. `measure` as in LevelDbStoreOptions.
  explicit SpaceGuard(const StorageConfig& config, MeasureVolume measure = nullptr);

  // kNoSpace while writes are to be refused. Looks at the disk at most every 100 ms; then it also
  // makes the ballast, if that is missing and there is room.
  Status Admit();
  // Gives the ballast up.
  void Release();

  const SpaceBudget& budget() const { return budget_; }
  uint64_t free_bytes() const;
  // Free bytes that whatever can wait leaves alone: the floor, and room for the ballast as long as
  // that is not there.
  uint64_t keep_free() const;

 private:
  uint64_t KeepFree() const;  // REQUIRES: mutex_, like the next two.
  Status Look();
  Status MakeBallast();

  const MeasureVolume measure_;
  const std::string directory_;
  const std::string ballast_;
  SpaceBudget budget_;

  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point next_look_;
  Status last_;
  bool has_ballast_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_SPACE_GUARD_H_

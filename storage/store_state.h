// StoreState: what an engine tells of itself, for status and metrics.
#ifndef TALLYD_STORAGE_STORE_STATE_H_
#define TALLYD_STORAGE_STORE_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "storage/retention_clock.h"

namespace tallyd {

// What an engine measures of itself: a gauge for /metrics.
struct StoreGauge {
  std::string name;  // "tallyd_leveldb_files". Gauges of one name follow each other.
  std::string help;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

// What an engine tells of itself: a name and a value of /v1/status, or a list or group of such.
struct StoreMember {
  using Members = std::vector<StoreMember>;
  std::string name;  // Empty for the members of a list.
  std::variant<bool, uint64_t, std::string, Members> value;
};

struct StoreState {
  bool writable = false;
  std::string reason;  // Why not, for people.
  uint64_t queued_bytes = 0;
  uint64_t queued_batches = 0;
  uint64_t unsealed_bytes = 0;  // Committed, and not yet in the form in which it will stay.
  RetentionClock::State retention;
  // Of the engine's own: nobody but people and their monitors reads their names.
  std::vector<StoreGauge> gauges;
  std::vector<StoreMember> members;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_STORE_STATE_H_

#include "storage/leveldb/tools/lost_heads.h"

#include <fmt/format.h>

#include <cstddef>

#include "storage/leveldb/env/wal_check.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {
namespace {

void FindMissing(const std::string& directory, const FoundHeads& found, LostHeads* lost) {
  const auto miss = [&](uint64_t number, const char* why) {
    ++lost->missing;
    lost->findings.push_back(
        FindingOf(HeadPath(directory, number), fmt::format("it is missing: {}", why)));
  };
  if (found.numbers.empty()) {
    if (found.first) miss(*found.first, "it had what was committed last, and nothing else has");
    return;
  }
  uint64_t next = found.first.value_or(found.numbers.front());
  for (const uint64_t number : found.numbers) {
    if (number > next) miss(next, "a later head is there, and base does not call this one sealed");
    next = number + 1;
  }
  if (found.closed.contains(found.numbers.back())) miss(next, "the head before it is closed");
}

// A crash leaves a torn end only to the head that was written to last.
void FindCut(StoreEnv* env, const std::string& directory, Sync sync, const FoundHeads& found,
             LostHeads* lost) {
  bool later_has_data = false;
  for (size_t i = found.numbers.size(); i-- > 0;) {
    const Result<WalCheck> logs =
        CheckWriteAheadLogs(env, HeadPath(directory, found.numbers[i]), sync);
    if (!logs) continue;
    for (const TornTail& tail : logs->tails) {
      if (!later_has_data || !tail.file.ends_with(".log")) continue;
      lost->findings.push_back(
          FindingOf(tail.file, fmt::format("from byte {} to its end it is not what was written, "
                                           "and a later head has data",
                                           tail.begin)));
    }
    later_has_data = later_has_data || logs->has_data;
  }
}

}  // namespace

LostHeads FindLostHeads(StoreEnv* env, const std::string& directory, Sync sync,
                        const FoundHeads& found) {
  LostHeads lost;
  FindMissing(directory, found, &lost);
  FindCut(env, directory, sync, found, &lost);
  return lost;
}

}  // namespace tallyd

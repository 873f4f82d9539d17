// The times of a block's entries (storage/FORMAT.md, Blocks). Regular ones are stored as a few
// stretches, and are read, checked and told to ascend without a look at each.
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_TIMES_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_TIMES_H_

#include <span>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "storage/blocks/int_reader.h"
#include "storage/blocks/key_runs.h"

namespace tallyd {

// The largest unit in which the times of a block may be stored: it divides all of them.
int64_t TimeUnitOf(std::span<const TimeUs> times);

// Keeps its memory; not thread-safe.
class BlockTimeReader {
 public:
  // Of as many entries as there are times. *runs_ascend: whether in every run each time is greater
  // than the one before it. False if the section is malformed.
  bool Read(std::string_view section, std::span<const KeyRun> runs, std::span<TimeUs> times,
            bool* runs_ascend);

 private:
  bool Fill(int64_t unit, std::span<TimeUs> times) const;
  bool EvenRunsAscend(std::span<const KeyRun> runs, std::span<const TimeUs> times) const;

  std::vector<EvenInts> stretches_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_TIMES_H_

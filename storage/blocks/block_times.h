// The times of a block's entries (storage/FORMAT.md, Blocks). Regular ones are stored as a few
// stretches, and are read, checked and told to ascend without a look at each; they become single
// times only where somebody asks for all.
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_TIMES_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_TIMES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "storage/blocks/int_reader.h"
#include "storage/blocks/key_runs.h"
#include "storage/entry_times.h"

namespace tallyd {

// The largest unit in which the times of a block may be stored, by which all of them are divided.
int64_t DivideByUnit(std::span<TimeUs> times);

// Keeps its memory; not thread-safe, not even for those who only read.
class BlockTimes {
 public:
  // Of so many entries, which the runs cut. False if the section is malformed; then nothing else is
  // to be called.
  bool Read(std::string_view section, std::span<const KeyRun> runs, uint32_t entries);

  // Whether in every run each time is greater than the one before it.
  bool runs_ascend() const { return runs_ascend_; }
  TimeUs At(uint32_t entry) const;
  // Worked out at the first call.
  std::span<const TimeUs> All() const;
  // Those of entries that follow each other. REQUIRES: begin < end.
  EntryTimes Of(uint32_t begin, uint32_t end) const;

 private:
  // Entries from `begin` on, up to the next stretch.
  struct Stretch {
    uint32_t begin = 0;
    TimeUs first = 0;
    int64_t step = 0;
  };

  bool ReadStretches(int64_t unit);
  const Stretch* StretchOf(uint32_t entry) const;
  static TimeUs In(const Stretch& stretch, uint32_t entry) {
    return stretch.first + stretch.step * int64_t{entry - stretch.begin};
  }
  bool EvenRunsAscend(std::span<const KeyRun> runs) const;

  uint32_t entries_ = 0;
  bool runs_ascend_ = false;
  std::vector<EvenInts> stored_;
  std::vector<Stretch> stretches_;  // Empty: the times are there one by one.
  mutable std::vector<TimeUs>
      room_;                      // Is not cleared, nor made smaller: that would write it twice.
  mutable bool has_all_ = false;  // In room_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_TIMES_H_

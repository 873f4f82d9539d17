// Times of cells: multiples of a grain, a millisecond but in tests. Pure functions.
#ifndef TALLYD_STORAGE_BIGTABLE_CODEC_CELL_TIME_H_
#define TALLYD_STORAGE_BIGTABLE_CODEC_CELL_TIME_H_

#include <cstdint>

#include "config/values/time.h"

namespace tallyd {

// The first time at or behind this one that a cell may have.
inline TimeUs NextGrain(TimeUs time, int64_t grain_us) {
  return (time + grain_us - 1) / grain_us * grain_us;
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CODEC_CELL_TIME_H_

// TornTail: the end of a log or manifest that was never acknowledged, as WalCheck finds it. What
// LevelDB would stumble over is cut off before it opens the database, and kept beside as
// NAME.torn-N. For one thread at a time, while nobody has the database open.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_TORN_TAIL_H_
#define TALLYD_STORAGE_LEVELDB_ENV_TORN_TAIL_H_

#include <leveldb/env.h>

#include <cstdint>
#include <span>
#include <string>

#include "config/values/result.h"

namespace tallyd {

struct TornTail {
  std::string file;
  uint64_t begin = 0;        // Where it starts.
  uint64_t bytes = 0;        // Without the zeros behind it.
  bool must_be_cut = false;  // LevelDB does not take it for the end by itself.
};

// Cuts off those that must be. At every moment either the whole file or the cut one is there under
// its name; where there is no space for a copy, nothing is left beside it.
Status CutTails(leveldb::Env* env, std::span<const TornTail> tails);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_TORN_TAIL_H_

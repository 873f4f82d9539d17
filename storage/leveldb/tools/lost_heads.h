// What is lost of the heads of a store of which a start would be refused for it (files/opener.h): a
// head that is missing, and one that was whole when a later one was begun and is not any more.
// Who reads heads one by one, and goes on without those that are gone, asks here. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_LOST_HEADS_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_LOST_HEADS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {

struct FoundHeads {
  // The one behind the last that base calls sealed, where base can be read and knows tables: it is
  // there at every moment. Nothing: base does not tell.
  std::optional<uint64_t> first;
  std::vector<uint64_t> numbers;  // Of those that base does not call sealed, ascending.
  std::set<uint64_t> closed;      // Those that say that another one follows.
};

struct LostHeads {
  uint64_t missing = 0;  // Gaps count as one.
  std::vector<Finding> findings;
};

// `directory`: heads/; `sync`: as the logs were written. What cannot be looked at is no finding:
// whoever reads the head is told.
LostHeads FindLostHeads(StoreEnv* env, const std::string& directory, Sync sync,
                        const FoundHeads& found);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_LOST_HEADS_H_

// How files get from one directory to another and stay there: links where the file system has them,
// else copies; synced before anybody relies on them. Errors name the file; a full disk is kNoSpace.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_TRANSFER_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_TRANSFER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/tools/report.h"

namespace tallyd {

struct TransferCounts {
  uint64_t linked = 0;
  uint64_t copied = 0;
  uint64_t copied_bytes = 0;
};

// Makes `to`, which must not exist, and counts it. What was copied is synced, its name is not. On
// failure there is no `to`. `progress` counts the bytes of copies; kCancelled when it says stop.
Status LinkOrCopy(StoreEnv* env, const std::string& from, const std::string& to,
                  ToolProgress* progress, TransferCounts* counts);
// False where it cannot be a link.
bool Link(const std::string& from, const std::string& to);

// The whole file at once: written under another name, synced, renamed, its name synced.
Status ReplaceFile(StoreEnv* env, const std::string& path, std::string_view bytes);
// Fine if it is there.
Status MakeDirectory(StoreEnv* env, const std::string& path);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_TRANSFER_H_

// Directories, read and made so that a failing disk is never taken for an empty one: what could not
// be read is an error, and only what the system says is absent is.
//
// All may be called by any thread.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_H_
#define TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_H_

#include <leveldb/env.h>

#include <string>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"

namespace tallyd {

// Whether a file or directory of that name is there. An error where that cannot be known.
Result<bool> IsThere(leveldb::Env* env, const std::string& name);

// Whether anything lies in the directory; false where there is none.
Result<bool> HoldsAnything(leveldb::Env* env, const std::string& directory);

// Makes the directory unless it is there. In either case its name is durable: who made it may have
// failed, or crashed, before it was.
Status EnsureDirectory(StoreEnv* env, const std::string& name);

// Makes a store's own directory, and those above it, unless they are there. Its name is durable in
// either case, as far as the process may open the directory that has it.
Status MakeStoreDirectory(const std::string& path);

// What leveldb::Env::GetChildren gives, "." and ".." among it, all or nothing.
leveldb::Status ListDirectory(const std::string& name, std::vector<std::string>* names);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_H_

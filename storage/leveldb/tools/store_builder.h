// StoreBuilder: a store made from what was saved of one: block files are put into their directory,
// records into heads and base. From Take on the directory is locked as a daemon locks it, and has
// the mark kUnfinishedName: while it lives no other process takes the directory, and what a crash
// leaves is refused by every daemon until Complete. One thread.
//
//   builder.Take();  ... files into blocks_directory() ...
//   builder.Write(head number, fill);  ...  builder.Write(StoreBuilder::kBase, fill);
//   builder.Complete();          or else builder.Leave();
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_STORE_BUILDER_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_STORE_BUILDER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/marked_env.h"

namespace tallyd {

class StoreBuilder {
 public:
  static constexpr uint64_t kBase = 0;

  // `config` outlives it; its path is where the store comes to be.
  explicit StoreBuilder(const StorageConfig& config);
  ~StoreBuilder();  // Gives the lock back; what is there stays.
  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;

  // Makes the directory, or takes one that holds no data. kConflict where anything else is, or
  // another process is at work. A failure leaves nothing behind.
  Status Take();

  // REQUIRES for these: Take succeeded.
  std::string blocks_directory() const;
  StoreEnv* env() { return &env_; }

  // Puts a record; in any order, of one key the last counts.
  using Put = std::function<Status(std::string_view key, std::string_view value)>;
  // A LevelDB of what `fill` puts; closed, and all of it synced, on return.
  Status Write(uint64_t head, const std::function<Status(const Put&)>& fill);
  Status Complete();
  // Removes what it made, and nothing else; gives the lock back.
  void Leave();

 private:
  std::string Path(const std::string& name) const { return config_.path + "/" + name; }
  Status CheckEmpty() const;
  Status MakePlace();
  Status Lock();
  Status Make(const std::string& directory);
  Status Move(const std::string& name);
  void Unlock();

  const StorageConfig& config_;
  DurableEnv env_;
  MarkedEnv marked_;
  leveldb::FileLock* lock_ = nullptr;
  bool made_lock_ = false;                     // LOCK is its own.
  std::vector<std::filesystem::path> places_;  // The directory and those above it that it made.
  std::vector<std::string> made_;              // What it made in the directory, in order.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_STORE_BUILDER_H_

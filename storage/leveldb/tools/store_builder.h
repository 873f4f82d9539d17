// StoreBuilder: a store made from what was saved of one: block files are put into their directory,
// records into heads and base. Until Complete, base has no CURRENT, so that no daemon takes what is
// there for a store. One thread.
//
//   builder.Begin();  ... files into blocks_directory() ...
//   builder.Write(head number, fill);  ...  builder.Write(StoreBuilder::kBase, fill);
//   builder.Complete();          or else builder.Leave();
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_STORE_BUILDER_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_STORE_BUILDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/result.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/marked_env.h"

namespace tallyd {

class StoreBuilder {
 public:
  static constexpr uint64_t kBase = 0;

  // `config` outlives it; its path is where the store comes to be.
  explicit StoreBuilder(const StorageConfig& config);

  // kConflict where anything but an empty directory is. Changes nothing.
  Status CheckTarget() const;
  Status Begin();
  std::string blocks_directory() const;
  StoreEnv* env() { return &env_; }

  // Puts a record; in any order, of one key the last counts.
  using Put = std::function<Status(std::string_view key, std::string_view value)>;
  // A LevelDB of what `fill` puts; closed, and all of it synced, on return.
  Status Write(uint64_t head, const std::function<Status(const Put&)>& fill);
  Status Complete();
  // Removes all that was made.
  void Leave();

 private:
  std::string Path(const std::string& name) const { return config_.path + "/" + name; }

  const StorageConfig& config_;
  DurableEnv env_;
  MarkedEnv marked_;
  bool made_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_STORE_BUILDER_H_

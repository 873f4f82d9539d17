// What the tools have in common: what they tell (Finding, ToolProgress); how files get from one
// directory to another and stay there, synced before anybody relies on them; and StoreBuilder, by
// which a store comes to be out of what was saved of one. Errors name the file; a full disk is
// kNoSpace. All of it is for one thread, but ToolProgress, which another one reads.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_TOOLBOX_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_TOOLBOX_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/marked_env.h"

namespace tallyd {

// Something that is not what was written.
struct Finding {
  std::string file;
  std::optional<uint64_t> offset;  // Of a part of the file; null: all of it.
  uint64_t bytes = 0;              // Of that part.
  std::string problem;
  // What it holds, as far as something else tells.
  std::string table;
  std::optional<TimeRange> times;
  std::string first_key;
  std::string last_key;
};

inline Finding FindingOf(std::string file, std::string problem) {
  Finding finding;
  finding.file = std::move(file);
  finding.problem = std::move(problem);
  return finding;
}

// How far a tool is; read by whoever shows it, on another thread.
struct ToolProgress {
  std::atomic<const char*> step{""};  // A literal: "reading block files".
  std::atomic<uint64_t> done{0};      // Bytes.
  std::atomic<uint64_t> total{0};     // 0: not known.
  std::atomic<bool> stop{false};      // Set from outside: the tool ends with kCancelled.
};

// Whether a path lies in a directory, or is it, also where it comes there through another mount of
// it. Both absolute and normal.
bool IsWithin(const std::filesystem::path& path, const std::filesystem::path& directory);

// How files were put into another directory: links where the file system has them, else copies.
struct TransferCounts {
  uint64_t linked = 0;
  uint64_t copied = 0;
  uint64_t copied_bytes = 0;
};

// None of these writes into a file that was there, whatever name it has: it may be a link, and
// another's. What a call did and then said to have failed counts as done.

enum class Transfer : uint8_t { kLinkOrCopy, kCopy };
// Makes `to`, which must not exist, and counts it. What was copied is synced, its name is not. On
// failure there is no `to`. `progress` counts the bytes of copies; kCancelled when it says stop.
Status LinkOrCopy(StoreEnv* env, const std::string& from, const std::string& to,
                  ToolProgress* progress, TransferCounts* counts,
                  Transfer how = Transfer::kLinkOrCopy);
// False where it cannot be a link. kConflict where something else is there. What `from` leads to as
// a symbolic link is linked, and not that link.
Result<bool> Link(const std::string& from, const std::string& to);
// In the place of whatever `to` is, at once: of a name beside it.
Status MoveOver(const std::string& from, const std::string& to);

// False also where either cannot be read.
bool HaveSameBytes(leveldb::Env* env, const std::string& one, const std::string& other);

// The whole file at once: written under another name, synced, renamed, its name synced. After an
// error it may be renamed, and may be so again after a power cut.
Status ReplaceFile(StoreEnv* env, const std::string& path, std::string_view bytes);
// Fine if it is there.
Status MakeDirectory(StoreEnv* env, const std::string& path);
// Whether there is such a name. An error is not absence.
Result<bool> Exists(const std::string& path);
// Whether it is a directory without anything of anybody: what mkfs puts into the root of a volume
// is nobody's.
Result<bool> IsEmptyDirectory(StoreEnv* env, const std::string& path);

// What is made for another user by root is to be that user's: who walks a recipe is rarely the one
// who serves.
struct Owner {
  uint32_t user = 0;
  uint32_t group = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};
// Of the path, or where it is not there of the next directory above it that is.
Result<Owner> OwnerOf(const std::string& path);
// Gives it, and what is below it, to the owner, as far as root may and it has no other name.
Status GiveTo(const Owner& owner, const std::string& path);

// StoreBuilder: a store made from what was saved of one: block files are put into their directory,
// records into heads and base. From Take on the directory is locked as a daemon locks it, and has
// the mark kUnfinishedName: while it lives no other process takes the directory, and what a crash
// leaves is refused by every daemon until Complete.
//
//   builder.Take();  ... files into blocks_directory() ...
//   builder.Write(head number, fill);  ...  builder.Write(StoreBuilder::kBase, fill);
//   builder.Complete();          or else builder.Leave();
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
  // Puts a file into the directory, as LinkOrCopy: a link where that leaves every name of the file
  // to its owner.
  Status Bring(const std::string& from, const std::string& to, ToolProgress* progress,
               TransferCounts* counts);

  // Puts a record; in any order, of one key the last counts.
  using Put = std::function<Status(std::string_view key, std::string_view value)>;
  // A LevelDB of what `fill` puts; closed, and all of it synced, on return.
  Status Write(uint64_t head, const std::function<Status(const Put&)>& fill);
  // What it made is then of the user who owns the directory, if this one may give it.
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
  Status GiveAway();
  void Unlock();

  const StorageConfig& config_;
  DurableEnv env_;
  MarkedEnv marked_;
  leveldb::FileLock* lock_ = nullptr;
  Owner owner_;                                // Of the directory, whoever makes it.
  bool made_lock_ = false;                     // LOCK is its own.
  std::vector<std::filesystem::path> places_;  // The directory and those above it that it made.
  std::vector<std::string> made_;              // What it made in the directory, in order.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_TOOLBOX_H_

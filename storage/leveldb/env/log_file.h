// LogFile: a log of LevelDB. It has room ahead, zeros that are written over, for sixteen syncs of
// up to 96 KiB, or as much as it was made with (MakeRoomAhead): where no size changes, fdatasync
// has no inode to write. Nobody is failed for want of room, and a log that is closed lets it go.
//
// Direct writes go past the page cache (O_DIRECT), by whole blocks: the last one has zeros behind
// what was appended, and is written again with what comes next. Flush does nothing then: what no
// Sync or Close has covered is lost with the process, not only with the power. Where the file
// system takes no such writes, they are cached ones.
//
// A log that is closed is synced first. To sync one that was removed meanwhile fails: nobody would
// find it again. After a failed write or sync every later call fails, Close included, and nothing
// more reaches the file. For one thread at a time.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_LOG_FILE_H_
#define TALLYD_STORAGE_LEVELDB_ENV_LOG_FILE_H_

#include <leveldb/env.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tallyd {

// Of what only its owner may read.
inline constexpr mode_t kFileMode = 0600;

// Room that a log is made with, as far as it is made within that time.
struct LogRoom {
  uint64_t bytes = 0;
  std::chrono::steady_clock::duration within{};
};

enum class LogWrites { kCached, kDirect };

class LogFile final : public leveldb::WritableFile {
 public:
  // Whose log it is. Outlives it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual leveldb::Status SyncDescriptor(int descriptor, const std::string& name) = 0;
    // Whether the log before it could not be synced when it was closed.
    virtual leveldb::Status CheckLogBefore(const std::string& name) = 0;
    // LevelDB let go of the log, and it could not be closed.
    virtual void NoteFailedClose(const std::string& name) = 0;
  };

  // Made anew, and empty.
  static leveldb::Status Make(const std::string& name, LogWrites writes, Owner* owner,
                              std::unique_ptr<LogFile>* file);
  ~LogFile() override;

  // REQUIRES: nothing was appended.
  leveldb::Status MakeRoomAhead(const LogRoom& room);

  leveldb::Status Append(const leveldb::Slice& data) override;
  leveldb::Status Flush() override;
  leveldb::Status Sync() override;
  leveldb::Status Close() override;

 private:
  static constexpr size_t kBlockBytes = 4096;
  struct Block {
    alignas(kBlockBytes) char bytes[kBlockBytes];
  };

  LogFile(std::string name, int descriptor, bool is_direct, Owner* owner);
  uint64_t end() const { return begin_ + used_; }  // Of what was appended.
  uint64_t EndOfBlock(uint64_t bytes) const;       // Where it is written by blocks.
  bool WriteBuffer();
  // As pwrite.
  ssize_t WriteAt(const char* data, size_t size, uint64_t offset);
  leveldb::Status SyncWritten();
  bool MakeRoom();
  bool WriteZeros(uint64_t room_end);

  const std::string name_;
  int descriptor_;
  bool is_direct_;
  Owner* const owner_;
  // What was appended last: from the beginning of a block on that may have been written in part.
  const std::unique_ptr<Block[]> buffer_;
  char* const bytes_;        // The buffer's.
  uint64_t begin_ = 0;       // Where the buffer's first byte is in the file,
  size_t used_ = 0;          // how many it has,
  size_t written_ = 0;       // and how many of these were written.
  uint64_t synced_end_ = 0;  // Of what was appended,
  uint64_t room_end_ = 0;    // of the zeros behind it, where that is greater,
  uint64_t file_end_ = 0;    // and of all that was written.
  leveldb::Status error_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_LOG_FILE_H_

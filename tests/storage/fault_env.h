// FaultEnv: an Env whose calls can fail, and whose power can be cut.
//
// Every call that changes the disk has a number. FailAt makes one call fail, or all from there
// until Heal. CutAt turns the power off at a call: from there on nothing reaches the disk; once the
// database is closed, LosePower does to what was not synced what a power cut may do.
//
// Hold makes calls of one kind hang, as a disk does that no longer answers, until LetGo.
#ifndef TALLYD_TESTS_STORAGE_FAULT_ENV_H_
#define TALLYD_TESTS_STORAGE_FAULT_ENV_H_

#include <leveldb/env.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "storage/leveldb/env/durable_env.h"

namespace tallyd {

enum class Fault { kNoSpace, kIo };
// What becomes of unsynced bytes.
enum class Loss { kAll, kRandomTail, kRandomSectors, kZeroedSectors };

enum class Hang { kNothing, kSyncs, kRemovals };

class FaultEnv final : public StoreEnv {
 public:
  FaultEnv();

  void FailAt(uint64_t call, Fault fault, bool until_healed);
  void Heal();
  void CutAt(uint64_t call);
  void LosePower(Loss loss, unsigned seed);
  void Hold(Hang what);
  void LetGo() { Hold(Hang::kNothing); }
  int hanging() const;  // How many calls do.
  uint64_t bytes_read() const { return bytes_read_; }
  // Of room that was asked for, for logs that were made since; here they get none.
  uint64_t room_asked() const { return room_asked_; }
  // How many block files were opened to be read.
  uint64_t block_files_opened() const { return block_files_opened_; }
  // Of block files.
  void FailReads(bool fail) { fail_reads_ = fail; }
  // Files of that ending cannot be removed; empty: all can.
  void KeepFiles(const std::string& ending);
  uint64_t calls() const;
  bool failed() const;  // Some call has, since FailAt or CutAt.

  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  void ExpectLog(const std::string& directory, const LogRoom& room) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status SyncDirectory(const std::string& directory) override;
  leveldb::Status HoldDirectory(const std::string& directory) override {
    return durable_.HoldDirectory(directory);
  }
  leveldb::Status NewPlacesFile(const std::string& name,
                                std::unique_ptr<PlacesFile>* file) override;

 private:
  class File;
  class Places;
  class Reader;
  class Sequence;
  struct Extent {
    uint64_t written = 0;
    uint64_t synced = 0;
  };
  // What was written over and not synced: where, and what was there before.
  struct Overwrite {
    uint64_t offset = 0;
    std::string before;
    std::string after;
  };

  leveldb::Status Call(const std::string& what);
  void WaitWhileHeld(Hang what);
  void LoseOverwrites(Loss loss, std::mt19937_64* random);  // REQUIRES: mutex_.

  DurableEnv durable_;
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<uint64_t> room_asked_{0};
  std::map<std::string, uint64_t> expected_;  // Guarded by mutex_. Of logs, by directory.
  std::atomic<uint64_t> block_files_opened_{0};
  std::atomic<bool> fail_reads_{false};
  mutable std::mutex mutex_;
  uint64_t calls_ = 0;
  uint64_t fail_at_ = 0;  // 0: never.
  bool sticky_ = false;
  bool failed_ = false;
  Fault fault_ = Fault::kIo;
  std::condition_variable let_go_;
  Hang held_ = Hang::kNothing;
  int hanging_ = 0;
  std::string kept_;
  std::map<std::string, Extent> files_;
  std::map<std::string, std::vector<Overwrite>> overwrites_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_FAULT_ENV_H_

// WindowWriter: entries of one table, in order -> block files apart by windows of event time.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_WINDOW_WRITER_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_WINDOW_WRITER_H_

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "storage/leveldb/files/block_file_writer.h"
#include "storage/leveldb/read/entry_source.h"

namespace tallyd {

class WindowWriter {
 public:
  // `files` says table, sequence and deletes of what is made; `next_number` numbers it. All windows
  // together hold `times`, which are the entries'.
  WindowWriter(leveldb::Env* env, std::string directory, const BlockFileInfo& files,
               const TimeRange& times, int64_t window_us, std::atomic<uint64_t>* next_number);

  Status Add(const WholeEntry& entry);
  // To the only window, as BlockBuilder::AddRun. Returns how many of the entries had room.
  Result<uint32_t> AddRun(const KeyRun& run, std::span<const TimeUs> times,
                          std::span<const RunColumn> columns);
  // Of the only window. REQUIRES: all times lie in one.
  BlockFileWriter& only();
  Result<std::vector<BlockFilePtr>> Finish();

 private:
  BlockFileWriter& At(TimeUs window);

  leveldb::Env* const env_;
  const std::string directory_;
  BlockFileInfo files_;
  TimeUs first_window_ = 0;
  std::atomic<uint64_t>* const next_number_;
  std::map<TimeUs, std::unique_ptr<BlockFileWriter>> writers_;
  TimeUs last_window_ = -1;
  BlockFileWriter* last_ = nullptr;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_WINDOW_WRITER_H_

// Head: what was committed lately, one generation by arrival, in a LevelDB of its own below
// `heads/`. Its write buffer holds all of it, so that nothing is compacted: it is written once,
// read once when it is sealed, and dropped whole.
//
// The committer writes the newest head; the others are closed to writes. A head lives as long as
// somebody holds it; when it was dropped, its files go with it.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_HEAD_H_
#define TALLYD_STORAGE_LEVELDB_FILES_HEAD_H_

#include <leveldb/db.h>
#include <leveldb/options.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/table_info.h"

namespace tallyd {

// A moment of a head; released with its last holder, which must be before the head is closed.
using HeadSnapshot = std::shared_ptr<const leveldb::Snapshot>;

// By table: from the earliest to behind the latest.
using TableTimes = std::map<TableId, TimeRange>;

class Head {
 public:
  // Opens or creates the head of that number below `directory`. `options` without the write buffer.
  static Result<std::shared_ptr<Head>> Open(const std::string& directory, uint64_t number,
                                            const leveldb::Options& options, uint64_t head_bytes);
  ~Head();
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  uint64_t number() const { return number_; }
  // REQUIRES: not closed.
  leveldb::DB& db() { return *db_; }
  // Closes its files, whoever holds it. REQUIRES: nobody uses db() any more, all snapshots of
  // others are gone.
  void Close();

  // What is committed to it and published, which is what readers may see: what is being written is
  // in the files before. Both under the lock under which the database takes and changes its view.
  const HeadSnapshot& published() const { return published_; }
  void Publish(HeadSnapshot* snapshot) { std::swap(published_, *snapshot); }
  HeadSnapshot TakeSnapshot();

  // What was committed to it, in bytes; after an open, what its files take.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Of the committer's thread.
  void AddBytes(uint64_t bytes);
  // When it got its first bytes; the distant future while it is empty.
  std::chrono::steady_clock::time_point since() const { return since_.load(); }

  // Of the committer's thread: the times of a table's entries.
  void CoverTimes(const TableTimes& times);
  // Of a head that is closed to writes, or of the committer's thread: the times of a table's
  // entries, empty if it has none. Null where nobody knows: it was not written by this process
  // alone.
  std::optional<TimeRange> TimesOf(TableId table) const;

  // Nothing more comes to it, and the next head is there: from then on, if that one is not, it is
  // lost. Synced, with all that came before.
  Status MarkClosed();
  Result<bool> IsClosed() const;

  // Its contents are in block files, and base says so: its files may go.
  void Drop() { dropped_ = true; }

 private:
  Head(std::string path, uint64_t number, leveldb::Env* env);

  const std::string path_;
  const uint64_t number_;
  leveldb::Env* const env_;
  std::unique_ptr<leveldb::DB> db_;
  HeadSnapshot published_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<std::chrono::steady_clock::time_point> since_;
  std::atomic<bool> dropped_{false};
  bool knows_times_ = false;
  TableTimes times_;
};

std::string HeadsDirectory(const std::string& path);
std::string HeadPath(const std::string& directory, uint64_t number);
// The numbers of the heads below `directory`, ascending; none where it is not there.
Result<std::vector<uint64_t>> ListHeads(leveldb::Env* env, const std::string& directory);
// Removes what is left of a head that was dropped.
void RemoveHead(leveldb::Env* env, const std::string& directory, uint64_t number);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_HEAD_H_

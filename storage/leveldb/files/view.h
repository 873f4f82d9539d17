// View: what holds the history's entries at one moment, and what hides some of them: the heads and
// block files, which together hold each entry once, and the deletes. Immutable once it is
// published; whoever reads holds the view, and with it the files, until done.
//
// A view is copied for every change, so its lists are shared between copies and replaced, never
// changed. What nobody holds any more the Disposer has, until the sealer lets it go. Head is one
// generation of what came, until it is sealed.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_
#define TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_

#include <leveldb/db.h>
#include <leveldb/options.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/head_iterator.h"
#include "storage/table_info.h"

namespace tallyd {

// Disposer: takes what its last holder has let go of, and lets it go where that may take time. To
// close, unlink and fsync files is the sealer's work; whoever held them last may be a reader, or
// hold a lock that every query takes. Thread-safe; outlives what it watches.
class Disposer {
 public:
  // The same object: when nobody holds what is returned, the disposer has it.
  template <class T>
  std::shared_ptr<T> Watch(std::shared_ptr<T> held) {
    T* const object = held.get();
    return {object, [this, held = std::move(held)](T*) mutable { Take(std::move(held)); }};
  }

  // Destroys, on this thread, what was taken so far.
  void Dispose() {
    std::vector<std::shared_ptr<const void>> taken;
    const std::lock_guard lock(mutex_);
    taken.swap(taken_);
  }

 private:
  void Take(std::shared_ptr<const void> object) {
    const std::lock_guard lock(mutex_);
    taken_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> taken_;  // Guarded by mutex_.
};

// A moment of a head; its records are released with its last holder, which must be before the head
// is closed.
struct HeadSnapshot {
  std::shared_ptr<const leveldb::Snapshot> records;
  std::shared_ptr<const HeadEntries> entries;
};

// By table: from the earliest to behind the latest.
using TableTimes = std::map<TableId, TimeRange>;

// Head: what was committed lately, one generation by arrival, in a LevelDB of its own below
// `heads/`. Its write buffer holds all of it, so that nothing is compacted: it is written once,
// read once when it is sealed, and dropped whole.
//
// The committer writes the newest head; the others are closed to writes. A head lives as long as
// somebody holds it; when it was dropped, its files go with it.
class Head {
 public:
  // Opens the head of that number below `directory`, or creates it where `options` allow it. They
  // come without the write buffer.
  static Result<std::shared_ptr<Head>> Open(const std::string& directory, uint64_t number,
                                            const leveldb::Options& options, uint64_t head_bytes);
  // The same of a head that lies elsewhere.
  static Result<std::shared_ptr<Head>> OpenAt(const std::string& path, uint64_t number,
                                              const leveldb::Options& options, uint64_t head_bytes);
  ~Head();
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  uint64_t number() const { return number_; }
  // Its records as LevelDB has them, those of groups among them. REQUIRES: not closed.
  leveldb::DB& db() { return *db_; }
  // What it holds, entry by entry (HeadIterator): at that moment, or as it is; the latter is of the
  // committer's thread, or of a head that is closed to writes. Gone before the head is closed.
  std::unique_ptr<leveldb::Iterator> NewIterator(const HeadSnapshot& moment) const;
  std::unique_ptr<leveldb::Iterator> NewIterator() const { return NewIterator({{}, entries_}); }
  // Closes its files, whoever holds it, once no run of it is held any more: runs may lie in what
  // LevelDB has in memory. REQUIRES: nobody uses db() any more, all snapshots of others are gone.
  void Close();

  // What is committed to it and published, which is what readers may see: what is being written is
  // in the files before. Both under the lock under which the database takes and changes its view.
  const HeadSnapshot& published() const { return published_; }
  void Publish(HeadSnapshot* snapshot) { std::swap(published_, *snapshot); }
  HeadSnapshot TakeSnapshot();

  // What was committed to it, in bytes; after an open, what its files take.
  // Where it is not 0, since() tells the time.
  uint64_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  // Of the committer's thread.
  void AddBytes(uint64_t bytes);
  // When it got its first bytes; the distant future while it is empty.
  std::chrono::steady_clock::time_point since() const { return since_.load(); }

  // Whether a group may come as one record of that size, which takes memory until the head is
  // sealed. Where the sealer does not keep up, LevelDB has the entries of a head that grows
  // further, each under its key, and compacts them. Of the committer's thread.
  bool TakesGroup(size_t record_bytes) const;
  // What was written as such a record, under that key. Of the committer's thread.
  void AddRun(std::string_view key, std::shared_ptr<EntryRun> run);

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

  // Of the entries as they are stored: equal only where the head holds the same. It reads all of
  // them. Of a head that is closed to writes, or of the committer's thread.
  Result<uint64_t> Checksum() const;
  // The same of all its other records.
  Result<uint64_t> ChecksumOfOthers() const;
  // The id of the store that it is of; empty where it does not say, as one that is empty, or that a
  // tallyd from before format 9 began.
  Result<std::string> StoreId() const;

  // Its contents are in block files, and base says so: its files may go.
  void Drop() { dropped_ = true; }

 private:
  Head(std::string path, uint64_t number, leveldb::Env* env, uint64_t head_bytes);
  Status LoadGroups();
  // Of the records whose key space counts.
  Result<uint64_t> ChecksumOf(bool (*counts)(KeySpace)) const;
  std::shared_ptr<const char[]> Hold(std::string_view key, size_t size) const;

  const std::string path_;
  const uint64_t number_;
  leveldb::Env* const env_;
  std::shared_ptr<leveldb::DB> db_;  // Also of runs that lie in its memory.
  const uint64_t group_bytes_;       // So much of it may come as groups,
  const uint64_t buffer_bytes_;  // and so much is in LevelDB's memory before it writes table files.
  std::shared_ptr<const HeadEntries> entries_ = std::make_shared<const HeadEntries>();
  HeadSnapshot published_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<std::chrono::steady_clock::time_point> since_;
  std::atomic<bool> dropped_{false};
  bool began_empty_ = false;  // All that is in it came by this object.
  TableTimes times_;
};

std::string HeadsDirectory(const std::string& path);
std::string HeadPath(const std::string& directory, uint64_t number);
// The numbers of the heads below `directory`, ascending; none where it is not there.
Result<std::vector<uint64_t>> ListHeads(leveldb::Env* env, const std::string& directory);
// Removes what is left of a head that was dropped.
void RemoveHead(leveldb::Env* env, const std::string& directory, uint64_t number);

struct View {
  using Files = std::vector<BlockFilePtr>;

  // Which opening of the files it is of; all views until the next one have the same.
  uint64_t opening = 0;
  std::vector<std::shared_ptr<Head>> heads;  // Oldest first; the last is the one written to.
  // By table; one without files, or without deletes, is in neither.
  std::map<TableId, std::shared_ptr<const Files>> files;
  std::map<TableId, std::shared_ptr<const DeleteList>> deletes;
  // Takes the files that nobody holds any more; outlives the view.
  Disposer* disposer = nullptr;

  const Files& FilesOf(TableId table) const;
  // Newest first, as they are likeliest to hide an entry.
  const DeleteList& DeletesOf(TableId table) const;
  DeleteList AllDeletes() const;  // Oldest first.
  uint64_t last_delete() const;   // The latest one's sequence; 0 if there is none.

  // `to` has what `from` had, or what is left of it; the files of `from` go.
  void Replace(const Files& from, const Files& to);
  // REQUIRES: newer than all before them, in order.
  void AddDeletes(const DeleteList& added);
  void RemoveDelete(const DeleteRange& removed);
};

using ViewPtr = std::shared_ptr<const View>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_

// EntryRun: entries of the history in the order of their keys, in memory. A head keeps what a group
// of batches wrote as one record (storage/FORMAT.md, Groups), so that LevelDB, which keeps a log of
// it, has one key to place and not one for each entry; the entries are found by runs, one of each
// group, or of several that were merged. EntrySorter makes the record of a group, EntryRuns are the
// runs of a head at one moment; RunIterator (run_iterator.h) reads them as one.
//
// The bytes of entries are in the records that they came in: where LevelDB holds a record in memory
// anyway, a run holds that, and otherwise a copy of its own.
//
// A run and runs are immutable once they are in place: any thread reads them. A sorter: one thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_ENTRY_RUN_H_
#define TALLYD_STORAGE_LEVELDB_FILES_ENTRY_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/files/key_code.h"
#include "storage/leveldb/files/key_place.h"

namespace tallyd {

class EntryRun;
using EntryRunPtr = std::shared_ptr<const EntryRun>;

// At least one entry.
class EntryRun {
 public:
  // An entry's key and, right behind it, its value, in the record that it came in.
  struct Entry {
    const char* bytes = nullptr;
    uint32_t key_size = 0;
    uint32_t value_size = 0;
    // Of the key against the one before it in its run; of the first against none.
    KeyCode code = 0;

    std::string_view key() const { return {bytes, key_size}; }
    std::string_view value() const { return {bytes + key_size, value_size}; }
  };

  // Copied. kCorruption where it is no record of a group.
  static Result<EntryRunPtr> Decode(std::string_view record);
  // REQUIRES: at least one.
  static EntryRunPtr Merge(std::span<const EntryRunPtr> runs);

  const std::vector<Entry>& entries() const { return entries_; }
  // REQUIRES, of all three: it is of one group.
  std::string_view record() const { return record_; }
  // The record lies there from now on, byte for byte, or in a copy of its own.
  void MoveTo(std::shared_ptr<const char[]> record);
  void MoveToOwn();

  // The place of the first entry at or behind `key`, looked for from a place on, in steps that
  // double: what is near is found soon.
  size_t LowerBound(std::string_view key, size_t from) const;

 private:
  friend class EntrySorter;
  EntryRun() = default;
  // An entry that lies at `bytes`. `key` and `last`, the one before it or empty, may lie elsewhere.
  void Append(const char* bytes, std::string_view key, size_t value_size, std::string_view last);

  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<const char[]>> records_;
  std::string_view record_;  // Of one group.
};

// EntrySorter: the entries of a group, to be put into the head in the order of their keys.
class EntrySorter {
 public:
  // Both outlive TakeRun or Clear. REQUIRES: the key is another's neither in whole nor in its
  // beginning.
  void Add(std::string_view key, std::string_view value) { entries_.push_back({key, value}); }
  void Clear();
  // Null where there is none. All are then forgotten. Its record is the sorter's until it is moved,
  // which must be before the next call.
  std::shared_ptr<EntryRun> TakeRun();

 private:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };
  // Of places whose keys have the first `depth` bytes in common. REQUIRES: at least one.
  void Sort(std::span<KeyPlace> places, size_t depth);
  // Heads of what is behind these bytes; *depth is then behind what heads are of. The bits in which
  // heads differ; 0: all keys are the same.
  uint64_t SetHeads(std::span<KeyPlace> places, size_t* depth);
  uint64_t SetWords(std::span<const KeyPlace> places, size_t depth);
  size_t CommonOf(std::span<const KeyPlace> places, size_t known) const;

  std::vector<Entry> entries_;
  std::vector<KeyPlace> order_;
  std::vector<uint64_t> words_;  // Eight bytes of each key, by place.
  KeyPlaceSorter sorter_;
  std::unique_ptr<char[]> record_;
  size_t record_room_ = 0;
};

// Few enough to be looked at together. What is merged at once is bounded, for whoever commits does
// it: the large ones grow in number with the head.
class EntryRuns {
 public:
  // With one more, the newest.
  EntryRuns With(EntryRunPtr run) const;
  const std::vector<EntryRunPtr>& list() const { return runs_; }

 private:
  std::vector<EntryRunPtr> runs_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_ENTRY_RUN_H_

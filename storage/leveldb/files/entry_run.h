// EntryRun: entries of the history in the order of their keys, in memory. A head keeps what a group
// of batches wrote as one record (storage/FORMAT.md, Groups), so that LevelDB, which keeps a log of
// it, has one key to place and not one for each entry; the entries are found by runs, one of each
// group, or of several that were merged. EntrySorter makes the record of a group, EntryRuns are the
// runs of a head at one moment, RunIterator reads them as one.
//
// A run and runs are immutable once made: any thread reads them. A sorter, an iterator: one thread.
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
#include "storage/leveldb/files/merge_heap.h"

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

    std::string_view key() const { return {bytes, key_size}; }
    std::string_view value() const { return {bytes + key_size, value_size}; }
  };

  // Copied. kCorruption where it is no record of a group.
  static Result<EntryRunPtr> Decode(std::string_view record);
  // REQUIRES: at least one.
  static EntryRunPtr Merge(std::span<const EntryRunPtr> runs);

  const std::vector<Entry>& entries() const { return entries_; }
  // REQUIRES: it is of one group.
  std::string_view record() const { return record_; }
  // The place of the first entry at or behind `key`, looked for from a place on, in steps that
  // double: what is near is found soon.
  size_t LowerBound(std::string_view key, size_t from) const;

 private:
  friend class EntrySorter;
  EntryRun() = default;
  // What is its only record.
  void Own(std::shared_ptr<const char[]> record, size_t size);

  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<const char[]>> records_;
  std::string_view record_;  // Of one group.
};

// EntrySorter: the entries of a group, to be put into the head in the order of their keys.
class EntrySorter {
 public:
  // Both outlive TakeRun or Clear.
  void Add(std::string_view key, std::string_view value) { entries_.push_back({key, value}); }
  void Clear() { entries_.clear(); }
  // Null where there is none. All are then forgotten.
  EntryRunPtr TakeRun();

 private:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };
  // Small, as sorting moves it about.
  struct Place {
    uint64_t head = 0;  // The eight bytes behind what all keys have in common.
    uint32_t entry = 0;
  };
  void Sort();

  std::vector<Entry> entries_;
  std::vector<Place> order_;
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

// RunIterator: the entries of all runs in the order of their keys, as LevelDB's iterators go. It
// begins at no entry.
class RunIterator {
 public:
  // The runs outlive it.
  explicit RunIterator(std::span<const EntryRunPtr> runs);
  RunIterator(const RunIterator&) = delete;
  RunIterator& operator=(const RunIterator&) = delete;

  bool Valid() const { return heap_.top() != nullptr; }
  // To the first entry at or behind `key`.
  void Seek(std::string_view key);
  // Behind the last.
  void SeekToEnd();
  // REQUIRES for these two: Valid().
  void Next();
  const EntryRun::Entry& entry() const { return heap_.top()->entry(); }
  // Takes the entries whose keys begin with `prefix` of the run that has the one at hand, and moves
  // past them; other runs may have more of them. REQUIRES: the one at hand has such a key.
  void TakePrefix(std::string_view prefix, std::vector<EntryRun::Entry>* taken);
  // To the last entry before the one at hand, or, behind the last, to the last of all. False, and
  // it stays, where there is none.
  bool Prev();

 private:
  // So many entries of a run are fetched from memory before they are looked at: they are spread
  // over the records of many groups.
  static constexpr size_t kFetchedAhead = 4;

  // At the first entry of a run that does not come before the one at hand.
  struct Cursor {
    const EntryRun* run = nullptr;
    size_t at = 0;
    uint64_t head = 0;  // The eight bytes behind what the keys of all runs have in common.

    bool valid() const { return at < run->entries().size(); }
    bool Precedes(const Cursor& other) const {
      return head != other.head ? head < other.head : entry().key() < other.entry().key();
    }
    const EntryRun::Entry& entry() const { return run->entries()[at]; }
    void Fetch(size_t ahead) const {
      if (at + ahead < run->entries().size()) __builtin_prefetch(run->entries()[at + ahead].bytes);
    }
  };
  void ReadHead(Cursor* cursor) const;
  void MakeHeap();

  size_t common_ = 0;
  std::vector<Cursor> cursors_;
  MergeHeap<Cursor> heap_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_ENTRY_RUN_H_

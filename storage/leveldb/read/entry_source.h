// EntrySource: the entries of one table in one place (a head, a block file), in the order of the
// store: row keys ascending, of one row the newest first, of one time the later commit first.
// HeadSource is the one of a head, SourceMerge makes one sequence of several. One thread; that
// of a head is used under a LeaseAccess of whoever scans or seals.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ENTRY_SOURCE_H_
#define TALLYD_STORAGE_LEVELDB_READ_ENTRY_SOURCE_H_

#include <leveldb/iterator.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/read/entry_reader.h"
#include "storage/leveldb/read/merge_heap.h"
#include "storage/leveldb/read/row_assembler.h"

namespace tallyd {

// So many entries are stepped over before a seek, which costs as much as a few steps.
inline constexpr int kStepsBeforeSeek = 6;

// A stored entry with all of its cells, for those who move entries from one place to another.
struct WholeEntry : StoredCells {
  std::string row_key;
  TimeUs time = 0;
  uint64_t sequence = 0;
  std::vector<char> bytes;  // What values (and columns, or names) view; moves with the entry.
  std::vector<Column> names;

  ColumnRef column(size_t i) const { return set != nullptr ? set->columns[i].ref() : columns[i]; }
};

class EntrySource {
 public:
  virtual ~EntrySource() = default;

  // Moves to the newest entry of the first row at or after `key`.
  virtual Status SeekRow(std::string_view key) = 0;
  // Moves to the newest entry of the last row before `key`; of the last row where it is empty.
  virtual Status SeekRowBefore(std::string_view key) = 0;
  // REQUIRES for these: valid().
  virtual Status Next() = 0;
  // To the first entry from here on that is of another row or older than `below`.
  virtual Status SkipNewer(TimeUs below) = 0;
  // Gives the cells of the entry to the assembler. kCorruption if it is malformed.
  virtual Status AddTo(RowAssembler* row) = 0;
  // Copies the entry. A block source's plan must select every column.
  virtual Status Read(WholeEntry* entry) = 0;

  // What it holds of the entry beside its key goes, and comes again where it is asked for: nothing
  // more will be wanted of it for now.
  virtual void Release() {}

  bool valid() const { return valid_; }
  // Until the source moves.
  std::string_view row_key() const { return row_key_; }
  TimeUs time() const { return time_; }
  uint64_t sequence() const { return sequence_; }

  // Whether this one's entry comes before the other's. REQUIRES: both valid().
  bool Precedes(const EntrySource& other) const {
    const int order = row_key_.compare(other.row_key_);
    if (order != 0) return order < 0;
    return time_ != other.time_ ? time_ > other.time_ : sequence_ > other.sequence_;
  }

 protected:
  bool valid_ = false;
  std::string_view row_key_;
  TimeUs time_ = 0;
  uint64_t sequence_ = 0;
};

// SourceMerge: the entries of several sources as one sequence: scans read rows through it, sealing
// and merging of files read entries.
class SourceMerge {
 public:
  // The sources stand at their first entries and outlive the merge; those at their ends are left
  // out.
  void Assign(const std::vector<EntrySource*>& sources) { heap_.Assign(sources); }

  // The source with the next entry; null at the end.
  EntrySource* top() const { return heap_.top(); }
  // After the caller moved top().
  void TopMoved() { heap_.TopMoved(); }
  // Moves top() to its next entry.
  Status Next() {
    const Status moved = top()->Next();
    TopMoved();
    return moved;
  }

  // The first row of all other sources: rows of top() before it are in top() alone. Nothing if
  // there is no other. A view until any source moves. REQUIRES: top() is not null.
  std::optional<std::string_view> NextRowOfOthers() const;
  // The one of all other sources whose entry comes first; null if there is no other.
  const EntrySource* NextOfOthers() const;

 private:
  MergeHeap<EntrySource> heap_;
};

class HeadSource final : public EntrySource {
 public:
  // `sets` outlives the source.
  HeadSource(TableId table, const ColumnRegistry& sets);
  // The iterator may be another after each LeaseAccess.
  void Use(leveldb::Iterator* iterator) { it_ = iterator; }

  Status SeekRow(std::string_view key) override;
  Status SeekRowBefore(std::string_view key) override;
  Status Next() override;
  Status SkipNewer(TimeUs below) override;
  Status AddTo(RowAssembler* row) override;
  Status Read(WholeEntry* entry) override;

 private:
  Status Load();

  EntryReader reader_;
  const std::string begin_;  // The table's entries.
  const std::string end_;
  leveldb::Iterator* it_ = nullptr;
  std::string row_prefix_;  // Of the entry at hand.
  std::string unescaped_;   // Its row key, where that is not in the prefix as it is.
  std::string target_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ENTRY_SOURCE_H_

// HeadIterator: what a head holds as one sequence of keys: its LevelDB's records, and the entries
// of its groups in the place where LevelDB would have them had each been written alone. So nobody
// who reads a head knows how an entry came into it. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_HEAD_ITERATOR_H_
#define TALLYD_STORAGE_LEVELDB_FILES_HEAD_ITERATOR_H_

#include <leveldb/iterator.h>
#include <leveldb/status.h>

#include <memory>
#include <optional>
#include <string_view>

#include "storage/leveldb/files/entry_run.h"
#include "storage/leveldb/files/run_iterator.h"

namespace tallyd {

// What a head remembers of its groups.
struct HeadEntries {
  EntryRuns runs;
  // Not ok: the record of a group cannot be read. Then no entry of the head is given, for it would
  // look as if there were no others.
  leveldb::Status damage;
};

class HeadIterator final : public leveldb::Iterator {
 public:
  HeadIterator(std::unique_ptr<leveldb::Iterator> records,
               std::shared_ptr<const HeadEntries> entries);

  bool Valid() const override { return from_ != From::kNowhere; }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(const leveldb::Slice& target) override;
  void Next() override;
  void Prev() override;
  leveldb::Slice key() const override;
  leveldb::Slice value() const override;
  leveldb::Status status() const override;

 private:
  // Whose key is the one at hand. The other stands at its first key behind it.
  enum class From { kNowhere, kRecords, kRuns };

  bool is_whole() const { return entries_->damage.ok(); }
  std::optional<std::string_view> HighKey() const;
  void Choose();
  void StopAtDamage(std::string_view low, std::optional<std::string_view> high);
  void SkipGroups();
  void StepBack();
  bool StepBackInRecords();

  const std::unique_ptr<leveldb::Iterator> records_;
  const std::shared_ptr<const HeadEntries> entries_;
  RunIterator runs_;
  From from_ = From::kNowhere;
  bool met_damage_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_HEAD_ITERATOR_H_

// LatestGroup: what a group of batches makes of latest rows; and LatestDeletes, which of them
// deletes still hide. Rows as they will be are gathered
// while the group is put together, and published when its write succeeded; a row is written once
// per group. Of the committer's thread.
//
//   Clear, then in the order of the batches Put, Delete, Trim, ToStore; AppendChanges; the write;
//   Publish.
//
// To a wide row a layer is added without a look at the others, in memory as in the head: when its
// room is full, the row is folded. A head has the whole of a row before what is added to it,
// and again after anything else became of the row: a row in memory that is open is marked with the
// head that has it.
//
// A row loses what deletes hide before anything is done to it: a delete forgets, so a layer that
// is hidden must not keep an older one out.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_GROUP_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_GROUP_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/latest/latest_merge.h"
#include "storage/leveldb/latest/latest_tables.h"

namespace tallyd {

using DeleteListPtr = std::shared_ptr<const DeleteList>;

// LatestDeletes: deletes of many rows of latest tables, whose rows still hold some of what they
// hide. They are taken out in the background, in pieces; until then readers and the committer go by
// these lists.
//
// A reader takes a table's list before it reads rows and holds it until it has read them all. What
// a delete hides is taken out when no reader of an older list is left: so a reader sees all of the
// delete, or nothing. When no row holds any of it any more, the delete is applied. It stays on
// record until nothing on the disk holds any of it either: until all heads are sealed to which rows
// were written before that. Thread-safe.
class LatestDeletes {
 public:
  struct Applied {
    std::shared_ptr<const DeleteRange> deleted;
    uint64_t until = 0;  // The last commit that may have written a row that it hides.
  };

  // Never null; oldest first.
  DeleteListPtr Of(TableId table) const {
    const std::lock_guard lock(mutex_);
    return tables_.try_emplace(table).first->second.list;
  }
  // Whether any list has a delete.
  bool any() const { return pending_.load(std::memory_order_relaxed) > 0; }
  // How many there are, with those that are applied.
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return pending_ + applied_.size();
  }
  // Goes up with whatever is added or replaced.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  // The last commit that has to be sealed before all of them can go; 0 if there is none.
  uint64_t last() const {
    const std::lock_guard lock(mutex_);
    uint64_t last = 0;
    for (const Applied& applied : applied_) last = std::max(last, applied.until);
    for (const auto& [table, of_table] : tables_) {
      if (!of_table.list->empty()) last = std::max(last, of_table.list->back()->sequence);
    }
    return last;
  }

  // Of the committer's thread.
  // REQUIRES: newer than all before them, in order. When the rows of their group are published.
  void Add(const DeleteList& added) {
    if (added.empty()) return;
    const std::map<TableId, DeleteList> of_tables = ByTable(added);
    const std::lock_guard lock(mutex_);
    ++version_;
    pending_ += added.size();
    for (const auto& [id, of_table] : of_tables) {
      Table& table = tables_[id];
      DeleteList list = *table.list;
      list.insert(list.end(), of_table.begin(), of_table.end());
      table.Replace(std::move(list), of_table.front()->sequence);
    }
  }
  // By what was loaded: nothing is applied.
  void Replace(const DeleteList& deletes) {
    std::map<TableId, DeleteList> of_tables = ByTable(deletes);
    const std::lock_guard lock(mutex_);
    for (auto& [id, table] : tables_) of_tables.try_emplace(id);
    for (auto& [id, of_table] : of_tables) {
      Table& table = tables_[id];
      const uint64_t known = table.list->empty() ? 0 : table.list->back()->sequence;
      table.Replace(std::move(of_table), known + 1);
    }
    applied_.clear();
    pending_ = deletes.size();
    ++generation_;
    ++version_;
  }

  // Of the sealer's thread.
  // Changes with Replace: what was found out of rows before counts no more.
  uint64_t generation() const {
    const std::lock_guard lock(mutex_);
    return generation_;
  }
  // Whether somebody may still read by a list that this delete is not in.
  bool HasReadersBefore(const DeleteRange& deleted) const {
    const std::lock_guard lock(mutex_);
    const auto table = tables_.find(deleted.table);
    return table != tables_.end() && std::any_of(table->second.older.begin(),
                                                 table->second.older.end(), [&](const auto& older) {
                                                   return older.first <= deleted.sequence &&
                                                          !older.second.expired();
                                                 });
  }
  // `last`: the last commit by now. Nothing if the generation is another.
  void SetApplied(const std::shared_ptr<const DeleteRange>& deleted, uint64_t generation,
                  uint64_t last) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) return;
    Table& table = tables_[deleted->table];
    DeleteList list = *table.list;
    if (std::erase(list, deleted) == 0) return;
    table.Replace(std::move(list), table.list->back()->sequence + 1);
    applied_.push_back({deleted, std::max(deleted->sequence, last)});
    --pending_;
  }
  // All those of a table that was dropped. Of the committer's thread, too.
  void SetAllApplied(TableId dropped) {
    const std::lock_guard lock(mutex_);
    const auto table = tables_.find(dropped);
    if (table == tables_.end()) return;
    const DeleteList& list = *table->second.list;
    for (const auto& deleted : list) applied_.push_back({deleted, deleted->sequence});
    pending_ -= list.size();
    tables_.erase(table);
  }
  std::vector<Applied> AllApplied() const {
    const std::lock_guard lock(mutex_);
    return applied_;
  }
  void ForgetApplied(const std::shared_ptr<const DeleteRange>& deleted) {
    const std::lock_guard lock(mutex_);
    std::erase_if(applied_, [&](const Applied& applied) { return applied.deleted == deleted; });
  }

 private:
  static std::map<TableId, DeleteList> ByTable(const DeleteList& deletes) {
    std::map<TableId, DeleteList> of_tables;
    for (const auto& deleted : deletes) of_tables[deleted->table].push_back(deleted);
    return of_tables;
  }

  struct Table {
    DeleteListPtr list = std::make_shared<const DeleteList>();
    // Lists that readers may still hold, each with the least sequence of a delete not in it.
    std::vector<std::pair<uint64_t, std::weak_ptr<const DeleteList>>> older;

    void Replace(DeleteList next, uint64_t not_before) {
      std::erase_if(older, [](const auto& held) { return held.second.expired(); });
      const std::weak_ptr<const DeleteList> before = list;
      list = std::make_shared<const DeleteList>(std::move(next));
      if (!before.expired()) older.emplace_back(not_before, before);
    }
  };

  mutable std::mutex mutex_;
  mutable std::map<TableId, Table> tables_;
  std::vector<Applied> applied_;
  std::atomic<size_t> pending_ = 0;  // In lists.
  uint64_t generation_ = 0;
  std::atomic<uint64_t> version_ = 0;
};

class LatestGroup {
 public:
  // All outlive the group. A group rewrites about `rows_at_once` rows for its deletes: a delete
  // that would make it more is recorded instead, unless it is of few rows.
  LatestGroup(const ColumnRegistry& sets, LatestTables* tables, LatestDeletes* deletes,
              uint64_t rows_at_once)
      : tables_(tables), deletes_(deletes), rows_at_once_(rows_at_once), merge_(sets) {}

  void Clear();

  // Rows of which Put will be called next: that they are fetched from memory is not waited for.
  // REQUIRES: at most kForeseen.
  static constexpr size_t kForeseen = 16;
  void Foresee(std::span<const LatestKey> keys);
  // Keys and layers outlive the group. `twin`: the layer as a reference to a history entry that
  // the group writes, too. kCorruption if the row is malformed, like the next ones.
  Status Put(const LatestKey& key, TableMode mode, const Layer& layer,
             const std::optional<LatestTwin>& twin);
  // True: it is of many rows; it has to be recorded, and hides from then on. False: its rows are
  // rewritten.
  Result<bool> Delete(const std::shared_ptr<const DeleteRange>& deleted);
  // Takes out of the row what deletes up to this sequence hide, and cells that are older than their
  // family's. What is left (empty: nothing) is to be told to base, if anything is returned.
  // `in_heads`: a head that is not sealed may have the row, and is told what aged: a delete that
  // comes later finds nothing to record, and a clock that goes back must not bring it back.
  Result<std::optional<std::string_view>> Trim(const LatestKey& key, uint64_t deletes,
                                               std::span<const TimeUs> oldest, bool in_heads);

  // The row as base is to have it, so that a head that told of it may go; empty: it has none. What
  // the group itself makes of it is the next head's to tell.
  std::string_view ToStore(const LatestKey& key);

  // The group's record of changes (storage/FORMAT.md, Latest) for the head with this number;
  // nothing is appended if there are none.
  void AppendChanges(uint64_t head, std::string* record);
  // After a failed write nobody knows what the head has.
  void ForgetHead() { head_ = 0; }
  void Publish();
  // Instead: what would have been published. No batch needs to live for it.
  void MoveTo(LatestChanges* changes, LatestTimes* oldest);

 private:
  struct Foreseen {
    LatestKey key;
    StoredRow* row = nullptr;  // Another's, seldom.
  };

  const LatestRows& RowsOf(TableId table);
  StoredRow* Find(const LatestKey& key);
  // Null: the group has none of the row, which is *stored, if there is one.
  LatestChange* FindChange(const LatestKey& key, StoredRow** stored);
  LatestChange* ChangeOf(const LatestKey& key);
  Result<LatestChange*> Touch(const LatestKey& key);
  Result<bool> Merge(TableMode mode, const Layer& layer, const std::optional<LatestTwin>& twin,
                     LatestChange* change);
  LatestMerge::Fate FateOf(TableMode mode, const LatestChange& change, const Layer& layer) const;
  // Those that were not there before the group.
  void AddNewRows(const DeleteRange& deleted, std::vector<LatestKey>* covered) const;
  // Whether it changed the row.
  Result<bool> Apply(const LatestKey& key, const LatestTrim& trim, LatestChange* change);
  // The row as it will be; empty: there is none. Good until the next call, of this or of merge_.
  std::string_view ValueOf(const LatestChange& change);
  static bool TakesAdditions(const LatestChange& change);
  static void Add(const Layer& layer, LatestChange* change);
  bool IsKnownToHead(const LatestChange& change) const;
  void AppendWhole(LatestChange* change);
  void MakeRow(uint32_t mark, LatestChange* change);
  void MakeRoom(LatestChange* change);
  static void Set(std::string_view row, LatestChange* change);
  static void Set(const Layer& layer, const std::optional<LatestTwin>& twin, LatestChange* change);

  LatestTables* const tables_;
  LatestDeletes* const deletes_;
  const uint64_t rows_at_once_;
  LatestMerge merge_;

  LatestChanges changes_;
  // Of the table that was last looked for; null: of none.
  TableId last_table_ = 0;
  const LatestRows* last_rows_ = nullptr;
  std::array<Foreseen, kForeseen> foreseen_;  // From next_foreseen_ on, those of the last call.
  size_t next_foreseen_ = kForeseen;
  // Those of rows that were not there before. A row that is stored knows its change itself.
  boost::unordered_flat_map<LatestKey, uint32_t, LatestKey::Hash> new_rows_;
  std::string encoded_;
  ByteBuffer record_;
  // The head that was last written to, and the mark of rows that it has.
  uint64_t head_ = 0;
  uint32_t mark_ = 0;
  uint64_t deleted_rows_ = 0;
  DeleteList added_;
  LatestTimes oldest_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_GROUP_H_

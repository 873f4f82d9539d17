// LatestGroup: what a group of batches makes of latest rows. Rows as they will be are gathered
// while the group is put together, and published when its write succeeded; a row is written once
// per group. Of the committer's thread.
//
//   Clear, then in the order of the batches Put, Delete, Trim, ToStore; AppendChanges; the write;
//   Publish.
//
// A row loses what deletes hide before anything is done to it: a delete forgets, so a layer that
// is hidden must not keep an older one out.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_LATEST_GROUP_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_LATEST_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/latest/latest_deletes.h"
#include "storage/leveldb/latest/latest_merge.h"
#include "storage/leveldb/latest/latest_tables.h"

namespace tallyd {

class LatestGroup {
 public:
  // All outlive the group. A group rewrites about `rows_at_once` rows for its deletes: a delete
  // that would make it more is recorded instead, unless it is of few rows.
  LatestGroup(const ColumnRegistry& sets, LatestTables* tables, LatestDeletes* deletes,
              uint64_t rows_at_once)
      : tables_(tables), deletes_(deletes), rows_at_once_(rows_at_once), merge_(sets) {}

  void Clear();

  // Keys outlive the group. `twin`: the layer as a reference to a history entry that the group
  // writes, too. kCorruption if the row is malformed, like the next ones.
  Status Put(const LatestKey& key, TableMode mode, const Layer& layer,
             const std::optional<LatestTwin>& twin);
  // True: it is of many rows; it has to be recorded, and hides from then on. False: its rows are
  // rewritten.
  Result<bool> Delete(const std::shared_ptr<const DeleteRange>& deleted);
  // Takes out of the row what deletes up to this sequence hide, and cells that are older than their
  // family's. What is left (empty: nothing) is to be told to base, if anything is returned.
  Result<std::optional<std::string_view>> Trim(const LatestKey& key, uint64_t deletes,
                                               std::span<const TimeUs> oldest);

  // The row as base is to have it, so that a head that told of it may go; empty: it has none. What
  // the group itself makes of it is the next head's to tell.
  std::string_view ToStore(const LatestKey& key) const;

  // The group's record of changes (storage/FORMAT.md, Latest); nothing is appended if there are
  // none.
  void AppendChanges(std::string* record) const;
  void Publish();
  // Instead: what would have been published. No batch needs to live for it.
  void MoveTo(LatestChanges* changes, LatestTimes* oldest);

 private:
  LatestChange& ChangeOf(const LatestKey& key);
  Result<LatestChange*> Touch(const LatestKey& key);
  // Those that were not there before the group.
  void AddNewRows(const DeleteRange& deleted, std::vector<LatestKey>* covered) const;
  // Whether it changed the row.
  Result<bool> Apply(const LatestKey& key, const LatestTrim& trim, LatestChange* change);
  static void Set(const LatestKey& key, std::string_view row, LatestChange* change);

  LatestTables* const tables_;
  LatestDeletes* const deletes_;
  const uint64_t rows_at_once_;
  LatestMerge merge_;

  LatestChanges rows_;
  std::vector<LatestKey> new_rows_;  // Of rows_: those that were not there before.
  uint64_t deleted_rows_ = 0;
  DeleteList added_;
  LatestTimes oldest_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_LATEST_GROUP_H_

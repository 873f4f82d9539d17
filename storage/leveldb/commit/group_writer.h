// GroupWriter: a group of batches -> one write to the head, then memory follows the disk. Numbers
// the entries, merges latest rows (each written once per group), records deletes, and publishes all
// of it only when the write succeeded. What the head's entries build on (column sets, fields) and
// other records are written to base before, which is rare: alone they tell nothing. Of the
// committer's thread.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_GROUP_WRITER_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_GROUP_WRITER_H_

#include <leveldb/write_batch.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/catalogue/catalogue.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/commit/leveldb_batch.h"
#include "storage/leveldb/latest/latest_group.h"

namespace tallyd {

// HeadCopies: what the entries of a head build on beside them in the head: the records of their
// tables, streams and sets of columns, as base has them. Each is copied when the head first needs
// it, so that a head tells what its entries mean even if base is lost (`tallyd salvage`); nobody
// else reads the copies. Of the committer's thread.
//
//   Use..., for all entries of a group; Put, when it is known to which head the group goes.
class HeadCopies {
 public:
  // Both outlive it.
  HeadCopies(const Catalogue* catalogue, const ColumnRegistry* sets)
      : catalogue_(*catalogue), sets_(*sets) {}

  // Entries of a table, and of one of its sets; of none (ColumnRegistry::kNoSet): by name.
  void Use(TableId table, uint32_t set);
  // The same of an entry as it is stored in the head, or of a layer of a latest row.
  void Use(TableId table, std::string_view entry);
  // Adds the copies that the head does not have of what the group uses; the next group begins.
  void Put(uint64_t head, leveldb::WriteBatch* batch);
  // After a failed write nobody knows what the head has.
  void Forget();

 private:
  // A table, or a table's set of columns.
  using Copy = uint64_t;
  struct Known {
    uint64_t group = 0;  // The last one that used it.
    uint64_t head = 0;   // The last one that it was copied to; 0: none.
  };

  void UseCopy(Copy copy);
  void PutCopy(Copy copy, leveldb::WriteBatch* batch) const;

  const Catalogue& catalogue_;
  const ColumnRegistry& sets_;
  boost::unordered_flat_map<Copy, Known> known_;
  uint64_t group_ = 1;
  std::vector<Copy> used_;  // By the group at hand.
};

class GroupWriter {
 public:
  struct Options {
    const Clock* clock = nullptr;
    Sync sync = Sync::kAlways;
    uint64_t rows_at_once = 0;  // See LatestGroup.
  };
  // All outlive the writer.
  GroupWriter(const Options& options, Database* database, EngineState* state);

  // False when a table that the batch writes to was dropped: it must not be committed.
  bool MayCommit(const LevelDbBatch& batch) const;

  // On failure nothing is published, and the database must be reopened before the next call.
  Status Commit(std::span<LevelDbBatch* const> group, bool sync);
  // The last group that failed while it was written; null: none did since Forget.
  FailedGroup* failed() { return failed_ ? &*failed_ : nullptr; }
  void ForgetFailed() { failed_.reset(); }
  size_t committed_bytes() const { return committed_bytes_; }  // By the last Commit.

 private:
  Status AddBatch(LevelDbBatch* batch);
  void ForeseeLatest(const LevelDbBatch& batch, size_t from);
  void CoverLate(const LevelDbBatch& batch);
  void CoverTimes(const LevelDbBatch& batch);
  void TellWatches(std::span<LevelDbBatch* const> group, bool written);
  Status PutLatest(const LevelDbBatch& batch, const LevelDbBatch::Op& op);
  Status TrimLatest(const LevelDbBatch& batch, const LevelDbBatch::Op& op);
  std::string_view RowToStore(const LatestKey& key);
  void StoreLatest(const LatestKey& key, std::string_view row);
  Status Delete(const LevelDbBatch::Op& op, const DeleteSpec& what);
  void AddRecords(const LevelDbBatch& batch);
  void AddGroupRecords();
  void AddLatestRecord(uint64_t head);
  void UseLayers();
  void PutBase(std::string_view key, std::string_view value);
  Status Write();
  void KeepFailed();
  void Publish();

  const Options options_;
  Database* const database_;
  EngineState* const state_;

  HeadCopies copies_;

  // Of the group at hand.
  leveldb::WriteBatch head_;  // write_ has what belongs to it.
  leveldb::WriteBatch base_;
  bool any_base_ = false;
  bool any_row_ = false;  // Of a latest table, in base_.
  EntrySorter entries_;
  uint64_t sequence_ = 0;
  LatestGroup latest_;
  std::vector<uint64_t> sequences_;  // Of the batch's ops.
  std::vector<const ColumnSet*> sets_;
  FieldTypes fields_;
  MissedFields missed_;
  HeadWrite write_;
  std::string latest_record_;
  std::vector<Layer> layers_;
  size_t committed_bytes_ = 0;
  std::optional<FailedGroup> failed_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_GROUP_WRITER_H_

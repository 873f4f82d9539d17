// The sealer's jobs that keep block files in order: MergeJob merges them, ExpiryJob drops what has
// expired, and CapJob what is more than a table may take (both in expiry_jobs.cc), PurgeJob writes
// them again without what deletes hide, DamageJob remembers which are damaged. Each
// looks at them only when there is something new, so that it costs next to nothing while there is
// not. Of the sealer's thread, by which they are asked (seal_context.h).
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_FILE_JOBS_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_FILE_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/blocks/column_block.h"
#include "storage/leveldb/seal/seal_context.h"

namespace tallyd {

// Writes files of one table and window again, without what is not to be kept, and puts the result
// in their place. kUnavailable where a reopen came between. What was made goes if it fails. Some
// progress, too, is to learn that one of the files is damaged, or cannot be read now: it is left
// alone from then on, or for a while.
Result<Progress> RewriteFiles(SealContext* context, const View::Files& from,
                              std::function<Status()> yield);

// MergeJob: merges the block files of a window as ChooseMerge says, in a burst with patience, but
// for tables with max_bytes. Looks at the files only when there are others than before, or when a
// burst is over.
class MergeJob final : public SealJob {
 public:
  // `context` outlives the job. `yield` is called between steps; its error ends the merge.
  MergeJob(SealContext* context, std::function<Status()> yield)
      : context_(*context), yield_(std::move(yield)) {}

  std::string_view name() const override { return "merging files"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return next_; }

 private:
  View::Files Choose(const View& view, bool patient) const;

  SealContext& context_;
  const std::function<Status()> yield_;
  Time next_ = kNever;
  std::weak_ptr<const View> idle_;  // Of which nothing is to be merged before next_.
};

// ExpiryJob: drops block files of which every cell is past its age, and those of dropped tables,
// whole, without a look inside. Knows when the next one expires, so that it costs nothing until
// then.
class ExpiryJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit ExpiryJob(SealContext* context) : context_(*context) {}

  std::string_view name() const override { return "dropping expired files"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return next_; }

 private:
  View::Files FindExpired(const View& view);

  SealContext& context_;
  Time next_ = kNever;
  // Of which, with this version of the catalogue, nothing is to be dropped before next_.
  std::weak_ptr<const View> idle_;
  uint64_t catalogue_ = 0;
};

// CapJob: where the files of a table take more than its max_bytes, lets the oldest go: whole
// windows of event time, from the oldest on, but never the newest, of which it cuts off the oldest
// part. The table says from then on that it may lack what was before. What is written later for
// such a time is stored. A time ahead of the retention clock makes nothing else go: what has one is
// as old as its arrival.
class CapJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit CapJob(SealContext* context) : context_(*context) {}

  std::string_view name() const override { return "keeping tables below their max_bytes"; }
  Result<Progress> Work(const ViewPtr& view) override;

 private:
  Result<Progress> DropWindows(const TableInfo& table, const View::Files& files);
  Result<Progress> CutWindow(const TableInfo& table, const View& view);
  // With the batch the table no longer claims what is before `until`.
  void LetGo(const TableInfo& table, TimeUs until, LevelDbBatch* batch);

  SealContext& context_;
  // Of which, with this version of the catalogue, nothing is to be let go.
  std::weak_ptr<const View> idle_;
  uint64_t catalogue_ = 0;
};

// PurgeJob: removes from the disk what deletes hide. A file is written again when a good part of it
// is hidden, or when the oldest delete that hides something in it reaches its deadline
// (storage.purge_deadline); merges remove what is hidden on their way. Which files have anything of
// a deleted range is told by their indexes and by the keys of the blocks at its ends; the others
// are not touched. A delete's record goes when no file has anything of it any more.
class PurgeJob final : public SealJob {
 public:
  // `context` outlives the job. `yield` is called between steps; its error ends what is being done.
  PurgeJob(SealContext* context, std::function<Status()> yield)
      : context_(*context), yield_(std::move(yield)) {}

  std::string_view name() const override { return "purging deletes"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return next_; }

 private:
  // A file of which deletes hide something.
  struct Touched {
    BlockFilePtr file;
    uint64_t hidden = 0;         // Entries, at most.
    TimeUs oldest = kMaxTimeUs;  // When the first of the deletes was committed.
  };

  Result<Progress> Purge(const View& view, TableId table);
  std::optional<uint64_t> HiddenOf(const BlockFilePtr& file, const DeleteRange& deleted);
  bool IsDue(const Touched& touched, size_t deletes);
  Status Forget(const DeleteRange& deleted);
  // What is known of files and deletes that the view does not have any more.
  void ForgetGone(const View& view);

  SealContext& context_;
  const std::function<Status()> yield_;
  Time next_ = kNever;
  std::weak_ptr<const View> idle_;  // Of which nothing is to be purged before next_.
  // By sequence of a delete, by number of a file: how many entries it hides, as CountHidden says.
  std::map<uint64_t, std::map<uint64_t, uint64_t>> hidden_;
  size_t looks_ = 0;  // Blocks read for that by the Work at hand.
};

// DamageJob: what is known of damaged files outlives the process. Damage that somebody met is noted
// in base. The files that had a note at the start are read whole, once: one that an operator put
// back, or that the disk reads again, is well from then on, and its note goes. So a start costs
// nothing for all that is whole, and what is told of the rest is true. One that a call of the
// system failed to read is read again later.
class DamageJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit DamageJob(SealContext* context);

  std::string_view name() const override { return "noting damaged files"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return not_before_ == Time::min() ? kNever : not_before_; }

 private:
  // A file that is being read, and its next block.
  struct Check {
    BlockFilePtr file;
    size_t block = 0;
  };

  Result<Progress> Note(const View& view);
  Result<Progress> CheckNext(const View& view);
  // Some blocks of the file. False at its end.
  Result<bool> ReadOn();
  Status ReadBlock(const BlockPlace& place);
  Status SetWell();

  SealContext& context_;
  std::vector<uint64_t> to_check_;       // Files, by number.
  Time not_before_ = Time::min();        // Nothing is read.
  Check check_;                     // No file: none is being read.
  std::string bytes_;
  ColumnBlock block_;
  ColumnData data_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_FILE_JOBS_H_

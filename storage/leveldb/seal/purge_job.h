// PurgeJob: removes from the disk what deletes hide. A file is written again when a good part of it
// is hidden, or when the oldest delete that hides something in it reaches its deadline
// (storage.purge_deadline); merges remove what is hidden on their way. Which files have anything of
// a deleted range is told by their indexes, without reading blocks. A delete's record goes when no
// file has anything of it any more.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_PURGE_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_PURGE_JOB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "storage/leveldb/seal/seal_context.h"
#include "storage/leveldb/seal/seal_job.h"

namespace tallyd {

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
  // How many entries of the file the delete may hide; null where its index cannot be read.
  std::optional<uint64_t> CountHidden(const BlockFilePtr& file, const DeleteRange& deleted);
  bool IsDue(const Touched& touched, size_t deletes);
  Status Forget(const DeleteRange& deleted);

  SealContext& context_;
  const std::function<Status()> yield_;
  Time next_ = kNever;
  std::weak_ptr<const View> idle_;  // Of which nothing is to be purged before next_.
  // By sequence of a delete: the numbers of the files of which it hides nothing, as indexes tell.
  std::map<uint64_t, std::set<uint64_t>> untouched_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_PURGE_JOB_H_

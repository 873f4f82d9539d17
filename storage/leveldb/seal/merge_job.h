// MergeJob: merges the block files of a window as merge_policy.h says. Looks at the files only when
// there are others than before.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_MERGE_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_MERGE_JOB_H_

#include <functional>
#include <memory>

#include "storage/leveldb/seal/seal_context.h"
#include "storage/leveldb/seal/seal_job.h"

namespace tallyd {

// Writes files of one table and window again, without what is not to be kept, and puts the result
// in their place. kUnavailable where a reopen came between. What was made goes if it fails. Some
// progress, too, is to learn that one of the files is damaged: it is left alone from then on.
Result<Progress> RewriteFiles(SealContext* context, const View::Files& from,
                              std::function<Status()> yield);

class MergeJob final : public SealJob {
 public:
  // `context` outlives the job. `yield` is called between steps; its error ends the merge.
  MergeJob(SealContext* context, std::function<Status()> yield)
      : context_(*context), yield_(std::move(yield)) {}

  std::string_view name() const override { return "merging files"; }
  Result<Progress> Work(const ViewPtr& view) override;

 private:
  View::Files Choose(const View& view) const;

  SealContext& context_;
  const std::function<Status()> yield_;
  std::weak_ptr<const View> idle_;  // Of which nothing is to be merged.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_MERGE_JOB_H_

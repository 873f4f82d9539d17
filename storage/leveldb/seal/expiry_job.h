// ExpiryJob: drops block files of which every cell is past its age, and those of dropped tables,
// whole, without a look inside. Knows when the next one expires, so that it costs nothing until
// then.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_EXPIRY_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_EXPIRY_JOB_H_

#include <memory>
#include <vector>

#include "storage/leveldb/seal/seal_context.h"
#include "storage/leveldb/seal/seal_job.h"

namespace tallyd {

class ExpiryJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit ExpiryJob(SealContext* context) : context_(*context) {}

  std::string_view name() const override { return "dropping expired files"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return next_; }

 private:
  bool IsNew(const ViewPtr& view);
  View::Files FindExpired(const View& view);

  SealContext& context_;
  Time next_ = kNever;
  // What next_ was worked out from: unless one of them is another now, it still holds.
  std::weak_ptr<const View> view_;
  std::vector<TablePtr> tables_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_EXPIRY_JOB_H_

// DamageJob: what is known of damaged files outlives the process. Damage that somebody met is noted
// in base. The files that had a note at the start are read whole, once: one that an operator put
// back, or that the disk reads again, is well from then on, and its note goes. So a start costs
// nothing for all that is whole, and what is told of the rest is true.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_DAMAGE_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_DAMAGE_JOB_H_

#include <string>
#include <vector>

#include "storage/blocks/column_block.h"
#include "storage/leveldb/seal/seal_context.h"
#include "storage/leveldb/seal/seal_job.h"

namespace tallyd {

class DamageJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit DamageJob(SealContext* context);

  std::string_view name() const override { return "noting damaged files"; }
  Result<Progress> Work(const ViewPtr& view) override;

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
  std::vector<uint64_t> to_check_;  // Files, by number.
  Check check_;                     // No file: none is being read.
  std::string bytes_;
  ColumnBlock block_;
  ColumnData data_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_DAMAGE_JOB_H_

// HeadJob: closes the newest head when it is full or old, and turns closed heads, the oldest first,
// into block files. Other jobs let it go first between their steps (Yield), as a merge may take
// minutes and heads must not wait for it.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_HEAD_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_HEAD_JOB_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/leveldb/seal/seal_context.h"

namespace tallyd {

// Closed heads that may wait. Beyond, the newest grows on, and LevelDB compacts it.
inline constexpr size_t kMaxClosedHeads = 3;

// Whether sealing is behind: two closed heads wait, or one does while the newest, which is not
// closed before that one is sealed, has a good part of its size already.
bool HeadsPileUp(const View& view, uint64_t head_bytes);

class HeadJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit HeadJob(SealContext* context) : context_(*context) {}

  std::string_view name() const override { return "sealing heads"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return next_; }

  // Seals what is due, but no more than may wait at a time: where heads come as fast as they are
  // sealed, the caller goes on, too. A head that cannot be sealed just now does not cost what the
  // caller has done already: the error is one that ends that, too.
  Status Yield();

 private:
  Result<Progress> BeginHead(const View& view);
  Status SealOldest();
  Status StoreLatestRows(Lease* lease);
  Status StoreMemos(Lease* lease);
  Status Record(const SealedHead& sealed);
  void NoteHead(const SealedHead& sealed, LevelDbBatch* batch) const;

  SealContext& context_;
  Time next_ = kNever;
  Time not_before_;  // In Yield, after a failure.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_HEAD_JOB_H_

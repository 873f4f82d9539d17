// FillPass: the filling of one table from another, from where its record says on.
//
// 1. It goes through the time that is missing in slices, the oldest first, and through each slice
//    in the order of the source's keys. What it reads it maps to the table alone and commits in
//    batches, each with the record of how far it has come.
// 2. What comes to the source now comes to the table by itself, in the same batch. So a filled
//    value may go over nothing but what was there when it was read: each batch is refused that
//    others came before (Store::CommitUnlessTouched), and then read again from the last one that
//    was committed on. Such batches become smaller, and by and by larger again.
// 3. Where what the table holds goes first, all of the source is read once before: what cannot be
//    read again is not deleted.
// 4. Deletes of a stream's events look for rows and then delete them: none may begin between the
//    reading and the commit (service/write/removal_gate.h).
//
// One thread. What it is given outlives it.
#ifndef TALLYD_SERVICE_FILL_FILL_PASS_H_
#define TALLYD_SERVICE_FILL_FILL_PASS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "service/fill/event_mapper.h"
#include "service/fill/fill_record.h"
#include "service/fill/fill_wish.h"
#include "service/fill/table_reading.h"
#include "service/query/scan/part_scan.h"
#include "service/write/writer.h"

namespace tallyd {

class FillPass {
 public:
  struct Parts {
    Store* store = nullptr;
    const Clock* clock = nullptr;
    Writer* writer = nullptr;
    // Called between a batch's reading and its commit, and after it; an error ends the pass.
    std::function<Status()> before_commit;
    std::function<Status(const FillRecord&)> after_commit;
    std::function<void()> on_conflict;
    int64_t slice_us = kUsPerDay;   // Of time, as the store keeps it apart.
    size_t batch_bytes = 1u << 20;  // About so many of what is put, in a batch.
  };
  FillPass(Parts parts, FillWish wish, FillRecord record);
  ~FillPass();

  // Until all of it is there. kConflict: the schema changed; the record stays of use, perhaps.
  Status Run();
  const FillRecord& record() const { return record_; }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  Status BeginAnew();
  Status ReadSource();
  Result<uint64_t> DrawLine();
  Status ReadSlice(const FillRecord& told);
  Result<bool> NextSlice();
  Result<bool> HasManyRows(const TimeRange& time) const;
  void OpenScan();
  Result<bool> ReadSome();
  void TakePart(TimeUs expires_by);
  Status Commit();
  void CloseScan();

  const Parts parts_;
  const FillWish wish_;
  Store& store_;
  FillRecord record_;  // As it is committed.
  FillRecord ahead_;   // As it will be with the batch at hand.
  int64_t width_us_;   // Of a slice.
  uint64_t slice_events_ = 0;

  TableReading source_;
  PartScan scan_;
  EventMapper mapper_;
  const std::shared_ptr<RowWatch> watch_;

  std::unique_ptr<Batch> batch_;
  size_t bytes_ = 0;       // Of the batch at hand, about.
  size_t most_bytes_;      // That a batch may have.
  bool is_open_ = false;   // The scan is.
  bool has_part_ = false;  // It stands on a part that was not taken yet.
  SteadyTime opened_;
  uint64_t removals_ = 0;  // Of the stream, that there were when it was opened.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_FILL_PASS_H_

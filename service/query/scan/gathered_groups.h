// GatheredGroups: groups in order out of ranges in no useful order, as of many entities that are
// one behind the other. Their time is taken in slices (time_slices.h), each of which is read, held
// and sorted: what is held at a time is bounded, however much the query has, and every entry is
// read about once. Of a slice that has more than was foreseen the first part of the order is kept,
// and what was not kept is read again.
#ifndef TALLYD_SERVICE_QUERY_SCAN_GATHERED_GROUPS_H_
#define TALLYD_SERVICE_QUERY_SCAN_GATHERED_GROUPS_H_

#include <optional>

#include "service/limits/query_memory.h"
#include "service/query/scan/event_groups.h"
#include "service/query/scan/held_parts.h"
#include "service/query/scan/time_slices.h"

namespace tallyd {

class GatheredGroups final : public GroupSource {
 public:
  // `max_groups`: more will not be asked for before the next page.
  GatheredGroups(const ScanInput& input, const GroupOptions& options, size_t max_groups);
  Result<bool> Next() override;

 private:
  Status Pass();
  Result<TimeRange> NextSlice();
  Status Keep(const PartScan& scan);
  Status MakeRoom();
  void EndPass(uint64_t seen);

  const ScanInput& input_;
  GroupOptions options_;
  const size_t max_groups_;
  const uint64_t slice_bytes_;
  MemoryCharge charge_;
  PartScan scan_;
  TimeSlices slices_;
  HeldParts held_;
  FragmentMerger merger_;
  size_t next_ = 0;                // Of held_.
  std::optional<GroupKey> bound_;  // From here on, parts of the pass were not kept.
  uint64_t part_bytes_;            // About, of each.
  bool done_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_GATHERED_GROUPS_H_

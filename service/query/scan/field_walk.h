// FieldWalk: which fields the rows of ranges have, without their values where the store tells the
// names of columns alone (ScanSpec::names_only). It reads by the same plan, filters and names as
// whoever reads the values, and may tell of more fields than come out of that, never of fewer: a
// filter on other fields than the key's is not applied to runs of columns.
//
//   FieldWalk walk(input);
//   if (Status done = walk.Read(ranges, time); !done) return done.error();
//   walk.met();
//
// Sees one state of the store, that of Read. Not thread-safe; blocks on the disk, and ends with the
// memory and the store of its input as any scan does.
#ifndef TALLYD_SERVICE_QUERY_SCAN_FIELD_WALK_H_
#define TALLYD_SERVICE_QUERY_SCAN_FIELD_WALK_H_

#include <vector>

#include "service/query/scan/part_scan.h"

namespace tallyd {

class FieldWalk {
 public:
  // `like` is a query's own input: names, filter and memory are shared with it, rows are not
  // counted. All that it points to outlives the walk.
  explicit FieldWalk(ScanInput like);
  FieldWalk(const FieldWalk&) = delete;
  FieldWalk& operator=(const FieldWalk&) = delete;

  // `ranges`: disjoint, in key order. Once.
  Status Read(const std::vector<KeyRange>& ranges, const TimeRange& time);
  // By field: whether a row has it. Fields behind the end were not met.
  const std::vector<bool>& met() const { return met_; }

 private:
  // False: some run takes rows to be read.
  Result<bool> MeetAll();
  bool MeetRun();
  void Meet(uint32_t field) {
    if (field >= met_.size()) met_.resize(field + 1);
    met_[field] = true;
  }

  ScanCounters counters_;
  ScanInput input_;
  PartScan scan_;
  std::vector<bool> met_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_FIELD_WALK_H_

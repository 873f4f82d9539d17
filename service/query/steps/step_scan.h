// StepScan: ranges of a table -> steps. It has names, filter and counters of its own, so that
// several can each take a part of one query's ranges at once; their steps are then put together
// with Downsampler::Absorb.
//
// Where the store holds columns side by side it hands them over as runs (storage/scan.h);
// elsewhere rows are read. Not thread-safe.
#ifndef TALLYD_SERVICE_QUERY_STEPS_STEP_SCAN_H_
#define TALLYD_SERVICE_QUERY_STEPS_STEP_SCAN_H_

#include <memory>
#include <span>
#include <vector>

#include "service/query/ask/event_query.h"
#include "service/query/scan/event_filter.h"
#include "service/query/scan/part_scan.h"
#include "service/query/steps/downsample.h"

namespace tallyd {

class StepScan {
 public:
  // `like` is the query's own input; its store, table and globs are taken over. All outlive the
  // scan. Sees the ranges, of which there may be none, as they are now.
  StepScan(const EventQuery& query, const ScanInput& like, const DownsampleSpec& spec,
           std::span<const KeyRange> ranges, const TimeRange& time);
  // Whether columns will do, which take a fraction of what rows take: they tell the key's fields
  // and single measured ones, not whole events.
  static bool TakesRuns(const EventQuery& query, const ScanInput& input, const EventFilter& filter,
                        const std::vector<std::string>& fields);
  StepScan(const StepScan&) = delete;
  StepScan& operator=(const StepScan&) = delete;

  // Adds all that the ranges hold of that time. Once.
  Status Scan();

  const ScanCounters& counters() const { return counters_; }
  const Downsampler& steps() const { return *steps_; }
  std::unique_ptr<Downsampler> TakeSteps() { return std::move(steps_); }

 private:
  void Open();
  // False: some run takes rows to be read; what was added is void.
  Result<bool> AddAll();
  Result<bool> AddRun();
  Status AddPart();

  const EventQuery& query_;
  FieldTable fields_;
  EventFilter filter_;
  ScanCounters counters_;
  ScanInput input_;
  std::unique_ptr<Downsampler> steps_;
  const std::span<const KeyRange> ranges_;
  const TimeRange time_;
  bool by_runs_ = false;
  PartScan scan_;
  std::vector<uint32_t> run_fields_;  // Of the run at hand.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_STEP_SCAN_H_

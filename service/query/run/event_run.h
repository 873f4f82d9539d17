// EventRun: one query being answered: its plan, its scans, and the stream of what comes out. It
// owns all that it needs but what ReadParts name, so it may outlive the request that asked.
#ifndef TALLYD_SERVICE_QUERY_RUN_EVENT_RUN_H_
#define TALLYD_SERVICE_QUERY_RUN_EVENT_RUN_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "service/limits/query_memory.h"
#include "service/query/ask/event_query.h"
#include "service/query/ask/planner.h"
#include "service/query/scan/event_filter.h"
#include "service/query/scan/event_stream.h"
#include "service/query/scan/part_scan.h"
#include "service/query/steps/downsample.h"
#include "service/read_parts.h"
#include "storage/merge_witness.h"

namespace tallyd {

// So many columns an answer may have for names that are known of the stream, whether or not any of
// its events has them. Where there would be more, its events are asked first (MeetFields).
inline constexpr size_t kMostUnmetColumns = 1000;

class EventRun {
 public:
  // `memory`: where what it holds counts; null: nowhere.
  EventRun(EventQuery query, TablePlan plan, const ReadParts& parts,
           ReadMemoryPtr memory = nullptr);
  ~EventRun();  // Counts what was read and returned.
  EventRun(const EventRun&) = delete;
  EventRun& operator=(const EventRun&) = delete;

  // Opens the scans; downsampling happens here. Once, before anything below.
  Status Start();

  Result<bool> Next();
  const EventView& event() const { return stream_->event(); }
  // Where the next page begins, if one ends with event().
  EventCursor Cursor() const;
  // After a pause: gives up scans that have been open for long and goes on behind event().
  void Refresh();
  // Lets go of what it holds of events that come; Next goes on behind event(). What is made of all
  // events, as steps are, is kept.
  void Release();
  const ReadMemoryPtr& memory() const { return input_.memory; }
  void CountReturned() { ++returned_; }
  uint64_t returned() const { return returned_; }
  // By field: which of them the rows have that the query reads, on all of its pages. Reads these
  // rows once more, as they are now.
  Result<std::vector<bool>> MeetFields();

  // Whether by now events are known to have fallen on one cell of the table, and were not when it
  // was planned.
  bool HasMetMerged() const {
    return plan_.at_risk && plan_.lack.merging != Merging::kMet &&
           MergedIn(parts_.store, *plan_.stored).any;
  }

  const EventQuery& query() const { return query_; }
  const TablePlan& plan() const { return plan_; }
  const ReadParts& parts() const { return parts_; }
  // How many are read to find out where to go on is of all rows that lie between: whoever has a
  // scope is told those that came out.
  uint64_t rows_read() const { return query_.access.is_scoped() ? returned_ : counters_.rows_read; }

  // The names of the events' fields, and which of them are answered.
  FieldTable& fields() { return downsampler_ == nullptr ? fields_ : step_columns_; }
  bool IsAnswered(uint32_t field) { return downsampler_ != nullptr || filter_.IsAnswered(field); }
  bool is_downsampled() const { return downsampler_ != nullptr; }

 private:
  std::unique_ptr<EventStream> OpenEvents(const std::optional<EventPosition>& start,
                                          size_t max_groups, bool descends);
  Result<std::unique_ptr<EventStream>> OpenAnyOrder();
  Result<std::unique_ptr<EventStream>> OpenByKey(const std::optional<EventPosition>& start);
  Status Reopen(size_t max_groups);
  std::unique_ptr<GroupSource> OpenGroups(const GroupOptions& options, size_t max_groups);
  Status FindTop();
  Status Downsample();
  Status DownsampleMet(const DownsampleSpec& asked);
  Result<DownsampleSpec> OfMetFields(DownsampleSpec spec);
  Status MakeSteps(const DownsampleSpec& spec);
  Result<DownsampleSpec> StepsAsked() const;
  Result<size_t> TopField(const std::vector<std::string>& fields) const;
  // The steps of whole events; of what single rows tell of them; of pieces, one a thread.
  Result<std::unique_ptr<Downsampler>> StepsOfEvents(const DownsampleSpec& spec,
                                                     const TimeRange& time);
  Result<std::unique_ptr<Downsampler>> StepsOfParts(const DownsampleSpec& spec,
                                                    const TimeRange& time);
  Result<std::unique_ptr<Downsampler>> StepsOfPieces(
      const std::vector<std::vector<KeyRange>>& pieces, DownsampleSpec spec, const TimeRange& time);
  Result<std::vector<std::vector<KeyRange>>> Divide(const std::vector<KeyRange>& ranges,
                                                    const TimeRange& time,
                                                    uint64_t least_entries) const;
  std::vector<std::string> AggregatedFields() const;
  // The query's time, as far as events behind `start` can lie.
  TimeRange TimeBehind(const std::optional<EventPosition>& start, int64_t width_us) const;
  bool descending() const { return query_.order == Order::kDescending; }

  EventQuery query_;
  TablePlan plan_;
  const ReadParts parts_;
  FieldTable fields_;
  FieldTable step_columns_;
  EventFilter filter_;
  ScanCounters counters_;
  ScanInput input_;
  MemoryCharge charge_;                  // Of what is not counted elsewhere.
  std::unique_ptr<EventStream> stream_;  // Null: it is to be opened, at `resume_`.
  std::optional<EventPosition> resume_;
  Downsampler* downsampler_ = nullptr;  // stream_, where steps were asked for.
  bool is_resumable_ = false;           // The stream gives events as they are read.
  bool holds_scans_ = false;            // Between calls of Next.
  bool is_behind_start_ = false;        // An event has come out of the stream.
  std::chrono::steady_clock::time_point opened_;
  uint64_t returned_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_RUN_EVENT_RUN_H_

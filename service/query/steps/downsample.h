// Downsampler: events in any order -> one row per step (and group), in order.
//
//   Downsampler steps(...);
//   steps.Add(time, fields) for every event;  steps.Finish();  // It may refuse.
//   then it is an EventStream whose columns are named by its own FieldTable.
//
// Steps are aligned to the epoch. Sums of integers are exact (128 bits; a float where they do not
// fit 64), and so are those of decimals until they become a float; sums of other floats are
// compensated, so that the order of events does not show. `min`, `max`,
// `first` and `last` keep the type of what they found; of values that are no numbers only `count`,
// `first` and `last` are told. What has no value is absent, unless gaps are filled; what is told of
// growth begins with the value before the step, in whichever earlier step of the group that is.
#ifndef TALLYD_SERVICE_QUERY_STEPS_DOWNSAMPLE_H_
#define TALLYD_SERVICE_QUERY_STEPS_DOWNSAMPLE_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "service/limits/query_memory.h"
#include "service/query/ask/event_query.h"
#include "service/query/scan/event_stream.h"
#include "service/query/steps/accumulators.h"
#include "service/query/steps/step_index.h"
#include "storage/scan.h"

namespace tallyd {

struct DownsampleSpec {
  int64_t step_us = 0;
  std::vector<Aggregation> aggregations;
  std::vector<std::string> fields;  // What is aggregated.
  std::vector<std::string> by;
  bool descending = false;
  Fill fill = Fill::kNone;
  std::optional<TimeRange> fill_range;  // Else from a group's first step with a value to its last.
  size_t top = 0;                       // So many groups are kept, by the values of one aggregation
  size_t top_field = 0;                 // of that of `fields`; 0: all.
  std::optional<EventPosition> start;   // Rows up to and with it are left out.
  size_t shares = 1;                    // By which the memory that it may take is divided.
  ReadMemoryPtr memory;                 // Where that counts; null: nowhere.
};

class Downsampler final : public EventStream {
 public:
  // `fields` names the fields of the events that come.
  Downsampler(DownsampleSpec spec, FieldTable* fields);

  // kUnprocessable when there are too many steps, groups and fields to hold.
  Status Add(TimeUs time, std::span<const EventField> event);
  // The values of one field in events that have the same key fields; their times ascend or descend
  // for longer stretches.
  Status AddRun(std::span<const EventField> key_fields, uint32_t field, const RunColumn& column);
  const std::vector<std::string>& fields() const { return spec_.fields; }
  bool Aggregates(uint32_t field) const {
    return field < field_index_.size() && field_index_[field] >= 0;
  }
  // Adds what another of the same spec has, of rows that come later in key order.
  Status Absorb(const Downsampler& later);
  // Forgets all that was added.
  void Clear();
  // False: growth was asked for, and events came in an order that it cannot be told from. They then
  // have to come in order of time, into another.
  bool in_order() const { return accumulators_.in_order(); }
  // Once, when all is added. kUnprocessable when there are too many gaps to fill.
  Status Finish();

  Result<bool> Next() override;
  EventPosition Position() const override;

  // The names of the columns: `by`, then "field" or "field:agg".
  const FieldTable& columns() const { return columns_; }

 private:
  // A step of a group: where its accumulators are.
  struct Slot {
    int64_t step = 0;  // Time / step_us.
    uint32_t group = 0;
    friend bool operator==(const Slot&, const Slot&) = default;
  };

  // The steps of a group, both ends included; none where the first is behind the last.
  struct StepSpan {
    int64_t first = 0;
    int64_t last = -1;
    size_t size() const { return first > last ? 0 : static_cast<size_t>(last - first) + 1; }
  };

  // Steps with their values, which are column by column for each.
  struct Filled {
    std::vector<Slot> slots;
    std::vector<Value> values;
  };

  uint32_t GroupOf(std::span<const EventField> event);
  uint32_t GroupOf(const std::string& text, std::span<const Value> values);
  // A step's slot is mostly the one met last, or that of the step behind it. Then it is last_slot_.
  bool IsNextSlot(const Slot& slot) {
    if (last_slot_ < slots_.size() && slots_[last_slot_] == slot) return true;
    if (last_slot_ + 1 >= slots_.size() || slots_[last_slot_ + 1] != slot) return false;
    ++last_slot_;
    return true;
  }
  // Makes the slot last_slot_, a new one if need be. False: there is no room for one more.
  bool UseSlot(const Slot& slot) { return IsNextSlot(slot) || FindSlot(slot); }
  bool FindSlot(const Slot& slot);
  // Appends a step, and how many values of the run it takes, to run_steps_. False: no room for it.
  bool AddStep(const Slot& slot, size_t index, size_t count) {
    if (!UseSlot(slot)) return false;
    run_steps_.indexes.push_back(last_slot_ * spec_.fields.size() + index);
    run_steps_.counts.push_back(static_cast<uint32_t>(count));
    return true;
  }
  size_t MostSlots() const;
  void GrowAccumulators();
  // That there is room for all that it holds.
  Status CheckRoom();
  uint64_t bytes() const {
    return slots_.size() * slot_bytes_ + 2 * accumulators_.sample_bytes() + group_bytes_;
  }
  size_t columns_each() const { return spec_.fields.size() * spec_.aggregations.size(); }
  // Columns are by field, then by aggregation, whose place in the spec it is.
  Value ValueAt(size_t slot, size_t field, size_t aggregation) const {
    const size_t each = spec_.aggregations.size();
    if (is_filled_) return filled_[slot * columns_each() + field * each + aggregation];
    return accumulators_.Get(slot * spec_.fields.size() + field, spec_.aggregations[aggregation]);
  }
  Value ValueOf(size_t slot, size_t column) const {
    const size_t each = spec_.aggregations.size();
    return ValueAt(slot, column / each, column % each);
  }
  void NameColumns();
  void SortByGroup();
  void SortByTime();
  void FollowSteps();
  void KeepTop();
  Status FillSteps();
  StepSpan SpanOf(std::span<const size_t> slots) const;
  void FillGroup(std::span<const size_t> slots, const StepSpan& span, Filled* filled);
  void FillRow(size_t slot);

  DownsampleSpec spec_;
  MemoryCharge charge_;
  uint64_t slot_bytes_ = 0;   // What a slot takes, its accumulators included.
  uint64_t group_bytes_ = 0;  // What groups take.
  FieldTable columns_;
  std::vector<int> field_index_;  // By the events' field ids: its place in spec_.fields, or -1.
  std::vector<uint32_t> by_ids_;
  std::vector<uint32_t> by_columns_;     // Indices into columns_.
  std::vector<uint32_t> value_columns_;  // By field, then aggregation.

  boost::unordered_flat_map<std::string, uint32_t> groups_;  // By the text of the `by` values.
  std::vector<std::vector<Value>> group_values_;
  std::vector<const std::string*> group_texts_;
  std::deque<std::string> owned_;
  std::string group_text_;
  std::vector<Value> group_;  // The values whose text it is.

  StepIndex slot_index_;
  std::vector<Slot> slots_;
  size_t most_slots_ = 0;
  size_t last_slot_ = 0;
  RunSteps run_steps_;  // Of the run at hand.
  Accumulators accumulators_;

  std::vector<size_t> order_;  // The slots, sorted.
  // With gaps filled: the slots then are steps with and without values, which are here, by slot and
  // column.
  std::vector<Value> filled_;
  bool is_filled_ = false;
  size_t next_row_ = 0;
  std::vector<EventField> row_;  // As many as one may have.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_DOWNSAMPLE_H_

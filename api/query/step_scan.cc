#include "api/query/step_scan.h"

#include <algorithm>
#include <utility>

namespace tallyd {

StepScan::StepScan(const EventQuery& query, const ScanInput& like, const DownsampleSpec& spec)
    : query_(query), filter_(query, *like.table, &fields_), input_(like) {
  input_.fields = &fields_;
  input_.filter = &filter_;
  input_.counters = &counters_;
  steps_ = std::make_unique<Downsampler>(spec, &fields_);
}

Status StepScan::Scan(std::span<const KeyRange> ranges, const TimeRange& time) {
  if (TakesRuns()) {
    bool done = false;
    Status added = AddRuns(ranges, time, &done);
    if (!added || done) return added;
    steps_->Clear();
    counters_ = {};
  }
  return AddRows(ranges, time);
}

// Runs tell the key's fields and single measured ones, not whole events.
bool StepScan::TakesRuns() const {
  const auto is_key = [&](const std::string& field) { return IsKeyField(*input_.table, field); };
  return std::all_of(query_.by.begin(), query_.by.end(), is_key) &&
         std::none_of(steps_->fields().begin(), steps_->fields().end(), is_key) &&
         filter_.filters_keys_only() && !input_.whole_rows() && !input_.spreads_events();
}

Status StepScan::AddRows(std::span<const KeyRange> ranges, const TimeRange& time) {
  PartScan scan(input_);
  for (const KeyRange& range : ranges) {
    scan.Open(range, time, {});
    while (true) {
      const Result<bool> more = scan.Next();
      if (!more) return more.error();
      if (!*more) break;
      if (Status status = AddPart(scan); !status) return status;
    }
  }
  return {};
}

Status StepScan::AddRuns(std::span<const KeyRange> ranges, const TimeRange& time, bool* done) {
  PartScan scan(input_);
  for (const KeyRange& range : ranges) {
    scan.OpenRuns(range, time);
    while (true) {
      const Result<bool> more = scan.Next();
      if (!more) return more.error();
      if (!*more) break;
      if (scan.run() == nullptr) {
        if (Status status = AddPart(scan); !status) return status;
        continue;
      }
      const Result<bool> added = AddRun(&scan);
      if (!added) return added.error();
      if (!*added) return {};
    }
  }
  *done = true;
  return {};
}

Status StepScan::AddPart(const PartScan& scan) {
  for (const EventFragment* fragment : scan.fragments()) {
    if (Status status = steps_->Add(scan.time(), fragment->fields); !status) return status;
  }
  return {};
}

// False where a column or the key tells more than one plain value.
Result<bool> StepScan::AddRun(PartScan* scan) {
  const ColumnRun& run = *scan->run();
  RowReader& reader = scan->reader();
  if (!reader.BeginRun(run)) return false;
  if (!filter_.AcceptsKey(reader.key_fields())) return true;
  run_fields_.clear();
  for (const RunColumn& column : run.columns) {
    const int32_t field = reader.FieldOf(column.column);
    if (field == RowReader::kNotPlain) return false;
    if (field == RowReader::kNoField) continue;
    const auto id = static_cast<uint32_t>(field);
    if (std::find(run_fields_.begin(), run_fields_.end(), id) != run_fields_.end()) return false;
    run_fields_.push_back(id);
    if (!steps_->Aggregates(id)) continue;
    const Status added = steps_->AddRun(reader.key_fields(), run.times, id, column);
    if (!added) return added.error();
  }
  return true;
}

}  // namespace tallyd

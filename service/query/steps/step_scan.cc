#include "service/query/steps/step_scan.h"

#include <algorithm>
#include <utility>

#include "service/query/ask/key_fields.h"

namespace tallyd {

namespace {

ScanInput InputLike(ScanInput input, FieldTable* fields, EventFilter* filter,
                    ScanCounters* counters) {
  input.fields = fields;
  input.filter = filter;
  input.counters = counters;
  return input;
}

}  // namespace

StepScan::StepScan(const EventQuery& query, const ScanInput& like, const DownsampleSpec& spec,
                   std::span<const KeyRange> ranges, const TimeRange& time)
    : query_(query),
      filter_(query, *like.table, &fields_),
      input_(InputLike(like, &fields_, &filter_, &counters_)),
      steps_(std::make_unique<Downsampler>(spec, &fields_)),
      ranges_(ranges),
      time_(time),
      scan_(input_) {
  by_runs_ = TakesRuns(query_, input_, filter_, steps_->fields());
  Open();
}

Status StepScan::Scan() {
  Result<bool> added = AddAll();
  if (added && !*added) {
    steps_->Clear();
    counters_ = {};
    by_runs_ = false;
    Open();
    added = AddAll();
  }
  scan_.Close();
  return added ? Status() : Status(added.error());
}

void StepScan::Open() {
  std::vector<KeyRange> ranges(ranges_.begin(), ranges_.end());
  if (by_runs_) {
    scan_.OpenRuns(std::move(ranges), time_);
  } else {
    scan_.Open(std::move(ranges), time_, {});
  }
}

bool StepScan::TakesRuns(const EventQuery& query, const ScanInput& input, const EventFilter& filter,
                         const std::vector<std::string>& fields) {
  const auto is_key = [&](const std::string& field) {
    return KeyAlwaysTells(*input.table, *query.known, field);
  };
  const auto may_be_key = [&](const std::string& field) {
    return KeyMayTell(*input.table, *query.known, field);
  };
  return std::ranges::all_of(query.by, is_key) && std::ranges::none_of(fields, may_be_key) &&
         filter.filters_keys_only() && !input.whole_rows() && !input.spreads_events();
}

Result<bool> StepScan::AddAll() {
  while (true) {
    const Result<bool> more = scan_.Next();
    if (!more) return more;
    if (!*more || !steps_->in_order()) return true;
    if (scan_.run() == nullptr) {
      if (Status status = AddPart(); !status) return status.error();
      continue;
    }
    const Result<bool> added = AddRun();
    if (!added || !*added) return added;
  }
}

Status StepScan::AddPart() {
  for (const EventFragment* fragment : scan_.fragments()) {
    if (Status status = steps_->Add(scan_.time(), fragment->fields); !status) return status;
  }
  return {};
}

// False where a column or the key tells more than one plain value.
Result<bool> StepScan::AddRun() {
  const ColumnRun& run = *scan_.run();
  RowReader& reader = scan_.reader();
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
    const Status added = steps_->AddRun(reader.key_fields(), id, column);
    if (!added) return added.error();
  }
  return true;
}

}  // namespace tallyd

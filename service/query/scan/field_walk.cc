#include "service/query/scan/field_walk.h"

#include <utility>

namespace tallyd {

FieldWalk::FieldWalk(ScanInput like) : input_(std::move(like)), scan_(input_) {
  input_.counters = &counters_;
}

Status FieldWalk::Read(const std::vector<KeyRange>& ranges, const TimeRange& time) {
  const bool by_runs = !input_.whole_rows() && !input_.spreads_events();
  Result<bool> met = false;
  if (by_runs) {
    scan_.OpenRuns(ranges, time, true);
    met = MeetAll();
  }
  if (met && !*met) {
    scan_.Open(ranges, time, {});
    met = MeetAll();
  }
  scan_.Close();
  return met ? Status() : Status(met.error());
}

Result<bool> FieldWalk::MeetAll() {
  while (true) {
    const Result<bool> more = scan_.Next();
    if (!more) return more;
    if (!*more) return true;
    if (scan_.run() != nullptr) {
      if (!MeetRun()) return false;
      continue;
    }
    for (const EventFragment* fragment : scan_.fragments()) {
      for (const EventField& field : fragment->fields) Meet(field.field);
    }
  }
}

// False where a column or the key tells more than one plain value.
bool FieldWalk::MeetRun() {
  RowReader& reader = scan_.reader();
  if (!reader.BeginRun(*scan_.run())) return false;
  if (!input_.filter->AcceptsKey(reader.key_fields())) return true;
  for (const RunColumn& column : scan_.run()->columns) {
    const int32_t field = reader.FieldOf(column.column);
    if (field == RowReader::kNotPlain) return false;
    if (field != RowReader::kNoField) Meet(static_cast<uint32_t>(field));
  }
  return true;
}

}  // namespace tallyd

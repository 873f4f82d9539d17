#include "service/query/scan/part_scan.h"

#include <utility>

#include "service/query/scan/same_table.h"

namespace tallyd {

PartScan::PartScan(const ScanInput& input)
    : input_(input),
      charge_(input.memory),
      scan_bytes_(BytesOfScan(input.memory.get())),
      reader_(*input.table, input.stored, *input.stream_fields, input.fields) {
  if (input.read_globs.empty()) return;
  reader_.SelectFields(input.read_globs, input.filter->ReadsLabels());
  columns_ = reader_.Columns();
}

ScanSpec PartScan::SpecOf(std::vector<KeyRange> ranges, const TimeRange& time) const {
  ScanSpec spec;
  spec.ranges = std::move(ranges);
  spec.cells = time;
  spec.columns = columns_;
  spec.now = input_.now;
  spec.line = input_.line;
  return spec;
}

void PartScan::Open(std::vector<KeyRange> ranges, const TimeRange& time, ScanDirection direction) {
  Close();
  ScanSpec spec = SpecOf(std::move(ranges), time);
  spec.reverse = direction.reverse_rows;
  scan_ = ScanRows(*input_.store, input_.stored, std::move(spec), input_.clamp);
  CheckTable();
  direction_ = direction;
  in_row_ = false;
  at_run_ = false;
}

void PartScan::OpenRuns(std::vector<KeyRange> ranges, const TimeRange& time, bool names_only) {
  Close();
  ScanSpec spec = SpecOf(std::move(ranges), time);
  spec.names_only = names_only;
  spec.columns = reader_.MeasuredColumns();
  if (input_.clamp != nullptr) spec.ranges = input_.clamp->Within(spec.ranges);
  runs_ = input_.store->ScanRuns(input_.stored, spec);
  CheckTable();
  direction_ = {};
  in_row_ = false;
  at_run_ = false;
}

void PartScan::CheckTable() {
  usable_ = input_.is_one_answer ? CheckSameTable(*input_.store, *input_.stored) : Status();
}

Result<bool> PartScan::Next() {
  if (!usable_) return usable_.error();
  if (!charge_.Covers(scan_bytes_)) return charge_.refusal();
  while (true) {
    if (!in_row_) {
      const Result<bool> more = NextRow();
      if (!more || !*more || at_run_) return more;
    }
    if (input_.whole_rows()) {
      in_row_ = false;
      if (ReadWholeRow()) return true;
      continue;
    }
    while (in_row_) {
      if (ReadNextPart()) return true;
    }
  }
}

Result<bool> PartScan::NextRow() {
  while (true) {
    const Result<bool> more = runs_ ? runs_->Next() : scan_->Next();
    at_run_ = false;
    if (!more || !*more) return more;
    at_run_ = runs_ && runs_->run() != nullptr;
    if (at_run_) {
      const ColumnRun& found = *runs_->run();
      if (input_.clamp != nullptr && IsOthers(found)) continue;
      CountRows(found.first_key, found.key_time == KeyTime::kNone ? 1 : found.times.size());
      return true;
    }
    const bool is_clamped = scan_ != nullptr || input_.clamp == nullptr;
    if (!is_clamped && !input_.clamp->Admits(row().key)) continue;
    if (!charge_.Covers(scan_bytes_ + BytesOfRow(row()))) return charge_.refusal();
    CountRows(row().key, 1);
    if (!reader_.BeginRow(row())) {
      ++input_.counters->unreadable_rows;
      continue;
    }
    in_row_ = true;
    key_accepted_ = false;
    parts_read_ = 0;
    return true;
  }
}

// Of a run whose keys tell more than one entity nobody takes the values: what it has is read row by
// row then (RowReader::BeginRun).
bool PartScan::IsOthers(const ColumnRun& found) {
  return reader_.BeginRun(found) && !input_.clamp->Admits(found.first_key);
}

void PartScan::CountRows(std::string_view key, size_t rows) {
  input_.counters->rows_read += rows;
  const size_t stem = input_.table->row_key.StemSize(key);
  input_.counters->stems.AddRead(input_.stored->id, key.substr(0, stem),
                                 {0, stem == key.size(), static_cast<uint32_t>(rows)});
}

// Reads the row's next part; false when nothing of it is accepted. Leaves the row behind its last
// part, or when its key is refused.
bool PartScan::ReadNextPart() {
  const Row& row = this->row();
  if (parts_read_ == row.parts.size()) {
    in_row_ = false;
    return false;
  }
  const size_t index = direction_.oldest_first ? row.parts.size() - 1 - parts_read_ : parts_read_;
  ++parts_read_;
  const RowPart& part = row.parts[index];
  size_t count = 0;
  reader_.ReadPart(row, part, &fragments_, &count);
  time_ = part.time;
  Accept(count);
  return !accepted_.empty();
}

bool PartScan::ReadWholeRow() {
  const Row& row = this->row();
  size_t count = 0;
  for (const RowPart& part : row.parts) reader_.ReadPart(row, part, &fragments_, &count);
  time_ = row.parts.empty() ? 0 : row.parts.front().time;
  Accept(count);
  return !accepted_.empty();
}

void PartScan::Accept(size_t count) {
  accepted_.clear();
  if (count == 0) return;
  EventFilter& filter = *input_.filter;
  if (!key_accepted_ && !filter.AcceptsKey(fragments_.front().fields)) {
    in_row_ = false;
    return;
  }
  key_accepted_ = true;
  const bool whole_events = !input_.spreads_events() && !input_.whole_rows();
  for (size_t i = 0; i < count; ++i) {
    const bool accepted = !whole_events || filter.AcceptsRest(fragments_[i].fields);
    if (accepted) accepted_.push_back(&fragments_[i]);
  }
}

}  // namespace tallyd

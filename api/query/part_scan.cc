#include "api/query/part_scan.h"

#include <utility>

namespace tallyd {

PartScan::PartScan(const ScanInput& input)
    : input_(input), reader_(*input.table, input.stored, *input.stream_fields, input.fields) {
  if (input.read_globs.empty()) return;
  reader_.SelectFields(input.read_globs);
  columns_ = reader_.Columns();
}

void PartScan::Open(const KeyRange& range, const TimeRange& time, ScanDirection direction) {
  ScanSpec spec;
  spec.range = range;
  spec.cells = time;
  spec.columns = columns_;
  spec.reverse = direction.reverse_rows;
  spec.now = input_.now;
  scan_ = input_.store->Scan(input_.stored, spec);
  direction_ = direction;
  in_row_ = false;
}

Result<bool> PartScan::Next() {
  while (true) {
    if (!in_row_) {
      const Result<bool> more = NextRow();
      if (!more || !*more) return more;
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
    const Result<bool> more = scan_->Next();
    if (!more || !*more) return more;
    ++input_.counters->rows_read;
    if (!reader_.BeginRow(scan_->row())) {
      ++input_.counters->unreadable_rows;
      continue;
    }
    in_row_ = true;
    key_accepted_ = false;
    parts_read_ = 0;
    return true;
  }
}

// Reads the row's next part; false when nothing of it is accepted. Leaves the row behind its last
// part, or when its key is refused.
bool PartScan::ReadNextPart() {
  const Row& row = scan_->row();
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
  const Row& row = scan_->row();
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

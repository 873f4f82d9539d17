#include "api/rows/row_run.h"

#include <utility>

#include "api/cursor.h"
#include "api/row_cells.h"

namespace tallyd {

RowRun::RowRun(RowQuery query, ApiContext& context)
    : query_(std::move(query)),
      context_(context),
      scan_(context.store.Scan(query_.stored, query_.spec)),
      opened_(std::chrono::steady_clock::now()) {}

RowRun::~RowRun() {
  context_.metrics.rows_read.Increment(static_cast<double>(read_));
  context_.metrics.rows_returned.Increment(static_cast<double>(returned_));
  context_.heat.Add(HeatMetric::kReads, stems_, context_.clock.Now());
}

Result<bool> RowRun::Next() {
  while (true) {
    const Result<bool> more = scan_->Next();
    if (!more || !*more) return more;
    CountRow();
    if (!query_.value || FilterByValue()) return true;
  }
}

void RowRun::CountRow() {
  ++read_;
  const std::string_view key = scan_->row().key;
  const size_t stem = query_.table == nullptr ? key.size() : query_.table->row_key.StemSize(key);
  stems_.AddRead(query_.stored->id, key.substr(0, stem), {0, stem == key.size(), 1});
}

// Keeps the cells whose text is the one asked for.
bool RowRun::FilterByValue() {
  const Row& row = scan_->row();
  filtered_.key = row.key;
  filtered_.parts.clear();
  filtered_.cells.clear();
  for (const RowPart& part : row.parts) {
    RowPart kept = part;
    kept.begin = static_cast<uint32_t>(filtered_.cells.size());
    for (const CellView& cell : row.CellsOf(part)) {
      scratch_.clear();
      if (auto number = AggregateText(*query_.stored, cell)) {
        scratch_ = std::move(*number);
      } else {
        AppendText(cell.value, &scratch_);
      }
      if (scratch_ == *query_.value) filtered_.cells.push_back(cell);
    }
    kept.end = static_cast<uint32_t>(filtered_.cells.size());
    if (kept.end > kept.begin) filtered_.parts.push_back(kept);
  }
  return !filtered_.cells.empty();
}

const Row& RowRun::Take() {
  ++returned_;
  last_key_ = row().key;
  return row();
}

std::string RowRun::Cursor() const {
  CursorWriter cursor(query_.hash);
  cursor.AddText(last_key_);
  return cursor.Finish();
}

void RowRun::Refresh() {
  const auto age = std::chrono::steady_clock::now() - opened_;
  if (last_key_.empty() || age < std::chrono::microseconds(kMaxScanAgeUs)) return;
  if (query_.spec.reverse) {
    query_.spec.ranges.front().end = last_key_;
  } else {
    query_.spec.ranges.front().start = last_key_ + '\0';
  }
  scan_ = context_.store.Scan(query_.stored, query_.spec);
  opened_ = std::chrono::steady_clock::now();
}

}  // namespace tallyd

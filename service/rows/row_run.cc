#include "service/rows/row_run.h"

#include <utility>

#include "service/fill/fill_record.h"
#include "service/limits/pages.h"
#include "service/query/scan/same_table.h"
#include "service/rows/aggregate_text.h"

namespace tallyd {

namespace {

// One more tells whether there is a next page; how many rows have such a value nobody knows.
RowQuery Bounded(RowQuery query) {
  if (query.is_page && !query.value) query.spec.limit = query.limit.value_or(kDefaultLimit) + 1;
  return query;
}

bool IsOneRow(const KeyRange& range) { return range.end == range.start + '\0'; }

Result<uint64_t> EmptiedAtBegin(const RowQuery& query, Store& store) {
  if (IsOneRow(query.spec.ranges.front())) return uint64_t{0};
  return EmptiedBehind(store, query.stored->name);
}

}  // namespace

RowRun::RowRun(RowQuery query, const ReadParts& parts, ReadMemoryPtr memory)
    : query_(Bounded(std::move(query))),
      parts_(parts),
      memory_(std::move(memory)),
      charge_(memory_),
      emptied_(EmptiedAtBegin(query_, parts.store)),
      scan_(OpenScan()),
      opened_(std::chrono::steady_clock::now()) {}

RowRun::~RowRun() {
  parts_.metrics.rows_read.Increment(static_cast<double>(read_));
  parts_.metrics.rows_returned.Increment(static_cast<double>(returned_));
  parts_.heat.Add(HeatMetric::kReads, stems_, parts_.clock.Now());
}

std::unique_ptr<RowScan> RowRun::OpenScan() const {
  return ScanRows(parts_.store, query_.stored, query_.spec,
                  query_.access.ClampOf(query_.stored->name));
}

Result<bool> RowRun::Next() {
  if (!scan_) {
    scan_ = OpenScan();
    opened_ = std::chrono::steady_clock::now();
    if (Status same = CheckTable(); !same) return same.error();
  }
  while (true) {
    if (!charge_.Covers(BytesOfScan(memory_.get()))) return charge_.refusal();
    const Result<bool> more = scan_->Next();
    if (!more || !*more) return more;
    if (!HasRoomForRow()) return charge_.refusal();
    CountRow();
    if (!query_.value || FilterByValue()) return true;
  }
}

// Called behind the opening of a scan. A filling that empties the table does so behind the reload
// that changed its rules, which who began in between has not seen change.
Status RowRun::CheckTable() {
  if (Status same = CheckSameTable(parts_.store, *query_.stored); !same) return same;
  if (!emptied_) return emptied_.error();
  const Result<uint64_t> emptied = EmptiedBehind(parts_.store, query_.stored->name);
  if (!emptied) return emptied.error();
  if (*emptied == 0 || *emptied == *emptied_) return {};
  return Error(ErrorCode::kUnavailable,
               "table " + query_.stored->name +
                   ": it was emptied to be filled anew while it was read; ask again");
}

// A row may be as large as 256 MiB, is read as a whole, and is written as a whole: the half again
// is what the answer has of it.
bool RowRun::HasRoomForRow() {
  const uint64_t bytes = BytesOfRow(scan_->row());
  return charge_.Covers(BytesOfScan(memory_.get()) + bytes + bytes / 2);
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

void RowRun::Refresh() {
  const auto age = std::chrono::steady_clock::now() - opened_;
  if (age >= std::chrono::microseconds(kMaxScanAgeUs)) Release();
}

void RowRun::Release() {
  if (!scan_) return;
  scan_.reset();
  charge_.Clear();
  if (!last_key_.empty()) query_.BeginBehind(last_key_);
}

}  // namespace tallyd

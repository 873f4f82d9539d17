#include "service/removal/removal_count.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace tallyd {
namespace {

// So many entries of a history table, or rows of a latest one, are read.
constexpr uint64_t kReadAtMost = 10'000;

ScanSpec SpecOf(const DeleteSpec& what, TimeUs now) {
  ScanSpec spec;
  spec.ranges = {what.rows};
  spec.cells = what.cells;
  spec.now = now;
  return spec;
}

}  // namespace

void RemovalCount::Add(Store& store, const TablePtr& table, const DeleteSpec& what, TimeUs now) {
  EstimateSpec spec;
  spec.ranges = {&what.rows, 1};
  spec.cells = what.cells;
  spec.count_at_most = kReadAtMost;
  const Result<ScanEstimate> estimate = store.Estimate(table, spec);
  if (!estimate) {
    known_ = false;
    return;
  }
  entries_ += std::max(estimate->entries, estimate->rows);
  const bool is_little = exact_ && entries_ <= kReadAtMost;
  uint64_t read = 0;
  if (is_little && CountAll(store.Scan(table, SpecOf(what, now)).get(), what, &read)) return;
  exact_ = false;
  rows_ += std::max(estimate->rows, read);
}

void RemovalCount::AddOwn(Store& store, const TablePtr& table, const DeleteSpec& what, TimeUs now,
                          const RowClamp& clamp) {
  ScanSpec spec = SpecOf(what, now);
  spec.limit = kReadAtMost - std::min(rows_, kReadAtMost) + 1;
  uint64_t read = 0;
  known_ = known_ && CountAll(ScanRows(store, table, std::move(spec), &clamp).get(), what, &read) &&
           rows_ <= kReadAtMost;
}

// False, having counted nothing, where it cannot be read, or is more than an estimate said.
bool RemovalCount::CountAll(RowScan* scan, const DeleteSpec& what, uint64_t* read) {
  uint64_t rows = 0;
  uint64_t cells = 0;
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return false;
    if (!*more) break;
    if (++*read > kReadAtMost) return false;
    const auto goes = [&](const CellView& cell) {
      return (!what.family || *what.family == cell.column.family) &&
             (!what.qualifier || *what.qualifier == cell.column.qualifier);
    };
    const auto of_row = static_cast<uint64_t>(std::ranges::count_if(scan->row().cells, goes));
    if (of_row > 0) ++rows;
    cells += of_row;
  }
  rows_ += rows;
  cells_ += cells;
  return true;
}

void RemovalCount::AddRow() {
  ++rows_;
  has_cells_ = false;
}

}  // namespace tallyd

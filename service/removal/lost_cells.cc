#include "service/removal/lost_cells.h"

#include <algorithm>

#include "service/rows/row_query.h"

namespace tallyd {

std::string LostCells::NameOf(const ColumnRef& column) {
  std::string name(reinterpret_cast<const char*>(&column.family), sizeof(column.family));
  return name.append(column.qualifier);
}

uint32_t LostCells::NumberOf(const ColumnRef& column) {
  return numbers_.try_emplace(NameOf(column), static_cast<uint32_t>(numbers_.size())).first->second;
}

Result<bool> LostCells::Add(Store& store, const TablePtr& table,
                            const std::vector<KeyRange>& ranges, const IsOfEntity& is_of_entity,
                            TimeUs now) {
  ScanSpec spec;
  spec.ranges = ranges;
  spec.now = now;
  const std::unique_ptr<RowScan> scan = store.Scan(table, spec);
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return true;
    if (!is_of_entity(scan->row().key)) continue;
    AddRow(scan->row());
    if (cells_ > kMaxCells || rows_.size() > kMaxRows) return false;
  }
}

bool LostCells::HasWithin(const TimeRange& time) const {
  return std::ranges::any_of(rows_, [&](const auto& row) {
    return std::ranges::any_of(row.second,
                               [&](const Part& part) { return time.Contains(part.time); });
  });
}

void LostCells::AddRow(const Row& row) {
  Parts& parts = rows_[std::string(row.key)];
  for (const RowPart& part : row.parts) {
    Part& kept = parts.emplace_back();
    kept.time = part.time;
    for (const CellView& cell : row.CellsOf(part)) kept.columns.push_back(NumberOf(cell.column));
    cells_ += kept.columns.size();
  }
}

Status LostCells::DropKept(Store& store, const TablePtr& table, TimeUs behind, TimeUs now) {
  ScanSpec spec;
  spec.now = now;
  spec.ranges.clear();
  for (const auto& [key, parts] : rows_) spec.ranges.push_back(RangeOfKey(key));
  if (spec.ranges.empty()) return {};
  const std::unique_ptr<RowScan> scan = store.Scan(table, spec);
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return {};
    DropKept(scan->row(), behind);
  }
}

void LostCells::DropKept(const Row& row, TimeUs behind) {
  const std::string key(row.key);
  for (const RowPart& part : row.parts) {
    if (!rows_.contains(key)) return;
    for (const CellView& cell : row.CellsOf(part)) {
      Erase(key, NumberOf(cell.column),
            [&](TimeUs time) { return part.time == time || part.time >= behind; });
    }
  }
}

bool LostCells::Has(std::string_view row_key, const ColumnRef& column) const {
  const auto row = rows_.find(std::string(row_key));
  if (row == rows_.end()) return false;
  if (whole_rows_) return true;
  const auto number = numbers_.find(NameOf(column));
  if (number == numbers_.end()) return false;
  return std::ranges::any_of(row->second, [&](const Part& part) {
    return std::ranges::find(part.columns, number->second) != part.columns.end();
  });
}

void LostCells::Drop(std::string_view row_key, const ColumnRef& column) {
  Erase(std::string(row_key), NumberOf(column), [](TimeUs) { return true; });
}

template <class Keeps>
void LostCells::Erase(const std::string& row_key, uint32_t column, const Keeps& keeps) {
  const auto row = rows_.find(row_key);
  if (row == rows_.end()) return;
  for (Part& part : row->second) {
    if (!keeps(part.time)) continue;
    if (whole_rows_) {
      rows_.erase(row);
      return;
    }
    std::erase(part.columns, column);
  }
  std::erase_if(row->second, [](const Part& part) { return part.columns.empty(); });
  if (row->second.empty()) rows_.erase(row);
}

}  // namespace tallyd

#include "ingest/map/held_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tallyd {
namespace {

std::vector<ColumnRef> ColumnsOf(const RowRenderer& renderer, const PendingRow& row) {
  std::vector<ColumnRef> columns;
  if (row.set != nullptr) {
    for (const Column& column : row.set->columns) columns.push_back(column.ref());
  } else {
    const std::span<const ColumnRef> named = renderer.columns(row);
    columns.assign(named.begin(), named.end());
  }
  return columns;
}

}  // namespace

const std::shared_ptr<HeldInterval>& HeldRows::IntervalOf(const TableMapping& mapping) {
  std::shared_ptr<HeldInterval>& interval = intervals_[mapping.table];
  if (!interval) interval = counters_->Begin(mapping.info, *mapping.table->flush_us, now_);
  return interval;
}

std::optional<Refusal> HeldRows::Check(const RowRenderer& renderer) const {
  if (counters_ == nullptr) return {};
  for (const PendingRow& row : renderer.rows()) {
    if (!Holds(*row.mapping)) continue;
    const std::span<const Value> values = renderer.values(row);
    const auto other = std::find_if(values.begin(), values.end(), [](const Value& value) {
      return !value.is_null() && value.type() != ValueType::kInt64;
    });
    if (other == values.end()) continue;
    const auto place = static_cast<size_t>(other - values.begin());
    const std::string column(ColumnsOf(renderer, row)[place].qualifier);
    return Refusal{column, fmt::format("column \"{}\" of table {}, whose counters are added up "
                                       "(flush), is a {}; accepted: int64",
                                       column, row.mapping->table->name, ToString(other->type()))};
  }
  return {};
}

void HeldRows::Add(const RowRenderer& renderer) {
  if (counters_ == nullptr) return;
  bool any = false;
  for (const PendingRow& row : renderer.rows()) {
    if (!Holds(*row.mapping)) continue;
    increments_.Put(IntervalOf(*row.mapping), row.key, row.time, ColumnsOf(renderer, row),
                    renderer.values(row));
    any = true;
  }
  if (any) ++events_;
}

}  // namespace tallyd

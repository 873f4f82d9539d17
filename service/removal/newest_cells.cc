#include "service/removal/newest_cells.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr size_t kRowBytes = 200;
constexpr size_t kNameBytes = 100;

}  // namespace

NewestCells::RowCells* NewestCells::RowOf(std::string_view row_key, TimeUs time) {
  const auto found = rows_.find(std::string(row_key));
  if (found == rows_.end() && !wants_row_(row_key)) return nullptr;
  RowCells& row = found != rows_.end() ? found->second : rows_[std::string(row_key)];
  if (row.newest < 0) bytes_ += kRowBytes + row_key.size();
  if (table_.mode == TableMode::kLatestRow && time < row.newest) return nullptr;
  if (table_.mode == TableMode::kLatestRow && time > row.newest) {
    row.by_set.clear();
    row.by_name.clear();
  }
  row.newest = std::max(row.newest, time);
  return &row;
}

void NewestCells::Set(Slot* slot, TimeUs time, const Value& value) {
  if (value.is_null() || (!slot->value.is_null() && time < slot->time)) return;
  slot->time = time;
  slot->value = value;
  if (value.type() == ValueType::kString) slot->value = Value::String(arena_.Copy(value.AsView()));
  if (value.type() == ValueType::kBytes) slot->value = Value::Bytes(arena_.Copy(value.AsView()));
  if (value.type() >= ValueType::kString) bytes_ += value.AsView().size();
}

void NewestCells::Put(const TableInfo& /*table*/, std::string_view row_key, TimeUs time,
                      const ColumnSet& set, std::span<const Value> values) {
  RowCells* const row = RowOf(row_key, time);
  if (row == nullptr) return;
  auto of_set =
      std::ranges::find(row->by_set, &set, &std::pair<const ColumnSet*, std::vector<Slot>>::first);
  if (of_set == row->by_set.end()) {
    row->by_set.emplace_back(&set, std::vector<Slot>(set.columns.size()));
    of_set = std::prev(row->by_set.end());
    bytes_ += set.columns.size() * sizeof(Slot);
  }
  for (size_t i = 0; i < values.size(); ++i) Set(&of_set->second[i], time, values[i]);
}

void NewestCells::Put(const TableInfo& /*table*/, std::string_view row_key, TimeUs time,
                      std::span<const ColumnRef> columns, std::span<const Value> values) {
  RowCells* const row = RowOf(row_key, time);
  if (row == nullptr) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    const auto [slot, is_new] =
        row->by_name.try_emplace(std::pair(columns[i].family, std::string(columns[i].qualifier)));
    if (is_new) bytes_ += kNameBytes + columns[i].qualifier.size();
    Set(&slot->second, time, values[i]);
  }
}

void NewestCells::ForEach(const WantsCell& wants, const Use& use) const {
  for (const auto& [key, row] : rows_) {
    std::map<TimeUs, Cells> by_time;
    const bool may_repeat = row.by_set.size() + (row.by_name.empty() ? 0 : 1) > 1;
    const auto add = [&](const ColumnRef& column, const Slot& slot) {
      if (slot.value.is_null() || !wants(key, column)) return;
      Cells& cells = by_time[slot.time];
      if (may_repeat && std::ranges::count(cells.columns, column) > 0) return;
      cells.columns.push_back(column);
      cells.values.push_back(slot.value);
    };
    for (const auto& [set, slots] : row.by_set) {
      for (size_t i = 0; i < slots.size(); ++i) add(set->columns[i].ref(), slots[i]);
    }
    for (const auto& [name, slot] : row.by_name) add({name.first, name.second}, slot);
    for (const auto& [time, cells] : by_time) use(key, time, cells);
  }
}

}  // namespace tallyd

#include "storage/batch.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tallyd {

uint64_t RowWatch::PlaceOf(std::string_view row_key, TimeUs time) {
  return XXH3_64bits_withSeed(row_key.data(), row_key.size(), static_cast<uint64_t>(time));
}

void RowWatch::Restart() {
  const std::lock_guard lock(mutex_);
  all_ = false;
  places_.clear();
}

void RowWatch::Note(uint64_t place) {
  const std::lock_guard lock(mutex_);
  if (all_) return;
  places_.insert(place);
  if (places_.size() <= kMaxPlaces) return;
  all_ = true;
  places_.clear();
}

void RowWatch::NoteAll() {
  const std::lock_guard lock(mutex_);
  all_ = true;
  places_.clear();
}

bool RowWatch::WasTouched(uint64_t place) const {
  const std::lock_guard lock(mutex_);
  return all_ || places_.contains(place);
}

bool RowWatch::WasAnyTouched() const {
  const std::lock_guard lock(mutex_);
  return all_ || !places_.empty();
}

std::shared_ptr<RowWatch> RowWatches::Add(TableId table, TimeUs before) {
  auto watch = std::make_shared<RowWatch>(table, before);
  const std::lock_guard lock(mutex_);
  watches_.push_back(watch);
  any_ = true;
  return watch;
}

std::vector<std::shared_ptr<RowWatch>> RowWatches::All() {
  std::vector<std::shared_ptr<RowWatch>> held;
  const std::lock_guard lock(mutex_);
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  for (const auto& watch : watches_) {
    if (auto one = watch.lock()) held.push_back(std::move(one));
  }
  any_ = !watches_.empty();
  return held;
}

namespace {

bool Covers(const DeleteSpec& what, std::string_view key) {
  return key >= what.rows.start && (what.rows.end.empty() || key < what.rows.end);
}

bool Covers(const DeleteSpec& what, const ColumnRef& column, TimeUs time) {
  return what.cells.Contains(time) && (!what.family || *what.family == column.family) &&
         (!what.qualifier || *what.qualifier == column.qualifier);
}

}  // namespace

PreviewBatch::Entry& PreviewBatch::Find(const TableInfo& table) {
  for (const auto& entry : tables_) {
    if (entry->table.id == table.id) return *entry;
  }
  tables_.push_back(std::make_unique<Entry>(Entry{table, {}}));
  return *tables_.back();
}

void PreviewBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                       const ColumnSet& set, std::span<const Value> values) {
  std::vector<ColumnRef> columns;
  for (const Column& column : set.columns) columns.push_back(column.ref());
  PutCells(&Find(table), row_key, time, columns, values);
}

void PreviewBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                       std::span<const ColumnRef> columns, std::span<const Value> values) {
  PutCells(&Find(table), row_key, time, columns, values);
}

void PreviewBatch::PutCells(Entry* entry, std::string_view row_key, TimeUs time,
                            std::span<const ColumnRef> columns, std::span<const Value> values) {
  if (std::all_of(values.begin(), values.end(), [](const Value& v) { return v.is_null(); })) return;
  const WriteMoment written{time, ++puts_};
  std::vector<Cell>& cells = entry->rows[std::string(row_key)];
  if (entry->table.mode == TableMode::kLatestRow) {
    if (!cells.empty() && cells.front().written.IsNewerThan(written)) return;
    cells.clear();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    Cell cell{{columns[i].family, arena_.Copy(columns[i].qualifier)}, written, values[i]};
    if (values[i].type() == ValueType::kString) {
      cell.value = Value::String(arena_.Copy(values[i].AsView()));
    } else if (values[i].type() == ValueType::kBytes) {
      cell.value = Value::Bytes(arena_.Copy(values[i].AsView()));
    }
    cells.push_back(cell);
  }
}

// What the store would keep of them, in a row's order: newest first, then read order.
void PreviewBatch::Merge(const TableInfo& table, std::vector<Cell>* cells) const {
  const auto by_column = [&](const Cell& a, const Cell& b) {
    if (a.column.family != b.column.family) {
      return table.family_rank[a.column.family] < table.family_rank[b.column.family];
    }
    return a.column.qualifier < b.column.qualifier;
  };
  std::sort(cells->begin(), cells->end(),
            [](const Cell& a, const Cell& b) { return a.written.IsNewerThan(b.written); });
  std::vector<GcRule> rules(table.families.size());
  for (size_t i = 0; i < rules.size(); ++i) rules[i].aggregate = table.families[i].rules.aggregate;
  CellMerge merge(table.mode == TableMode::kHistory ? CellMerge::Versions::kAll
                                                    : CellMerge::Versions::kNewest);
  merge.BeginRow();
  std::map<std::pair<FamilyId, std::string_view>, uint32_t> numbers;
  std::vector<Cell> kept;
  std::vector<size_t> last;  // By column: where its last cell is.
  CellFolds folds;
  for (const Cell& cell : *cells) {
    const auto number = static_cast<uint32_t>(numbers.size());
    const std::pair key(cell.column.family, cell.column.qualifier);
    const uint32_t column = numbers.try_emplace(key, number).first->second;
    const GcRule& rule = rules[cell.column.family];
    const CellMerge::Fate fate = merge.Take(column, cell.written.time, rule);
    if (fate == CellMerge::Fate::kFolds) {
      folds.Add(*rule.aggregate, last[column], kept[last[column]].value, cell.value);
    }
    if (fate != CellMerge::Fate::kLive) continue;
    last.resize(std::max(last.size(), size_t{column} + 1));
    last[column] = kept.size();
    kept.push_back(cell);
  }
  folds.ForEach([&](size_t place, const Value& state) {
    kept[place].value =
        state.type() == ValueType::kBytes ? Value::Bytes(folded_.Copy(state.AsView())) : state;
  });
  *cells = std::move(kept);
  std::sort(cells->begin(), cells->end(), [&](const Cell& a, const Cell& b) {
    return a.written.time != b.written.time ? a.written.time > b.written.time : by_column(a, b);
  });
}

void PreviewBatch::Delete(const TableInfo& table, const DeleteSpec& what) {
  Rows& rows = Find(table).rows;
  for (auto row = rows.lower_bound(what.rows.start);
       row != rows.end() && Covers(what, row->first);) {
    std::erase_if(row->second,
                  [&](const Cell& c) { return Covers(what, c.column, c.written.time); });
    row = row->second.empty() ? rows.erase(row) : std::next(row);
  }
}

std::vector<PreviewTable> PreviewBatch::Tables() const {
  std::vector<PreviewTable> tables;
  for (const auto& entry : tables_) {
    PreviewTable& table = tables.emplace_back();
    table.table = entry->table;
    for (const auto& [key, stored] : entry->rows) {
      std::vector<Cell> cells = stored;
      Merge(entry->table, &cells);
      Row& row = table.rows.emplace_back();
      row.key = key;
      for (const Cell& cell : cells) {
        const auto at = static_cast<uint32_t>(row.cells.size());
        if (row.parts.empty() || row.parts.back().time != cell.written.time) {
          row.parts.push_back({cell.written.time, at, at, nullptr});
        }
        row.cells.push_back({cell.column, 0, cell.value});
        row.parts.back().end = at + 1;
      }
    }
  }
  return tables;
}

}  // namespace tallyd

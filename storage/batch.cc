#include "storage/batch.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace tallyd {
namespace {

uint64_t HashColumn(const ColumnRef& column) {
  return XXH3_64bits_withSeed(column.qualifier.data(), column.qualifier.size(), column.family);
}

}  // namespace

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

void BatchCounts::Add(const TableInfo& table, std::string_view row_key, TimeUs time,
                      const ColumnSet& set, std::span<const Value> values) {
  size_t absent = 0;
  for (const Value& value : values) absent += value.is_null() ? 1 : 0;
  if (absent == values.size()) return;
  puts_.push_back({RowNumber(table, row_key), table.mode, values.size() - absent, time, &set,
                   absent == 0 ? kWhole : present_.size()});
  if (absent > 0) NotePresent(values);
}

void BatchCounts::NotePresent(std::span<const Value> values) {
  for (size_t begin = 0; begin < values.size(); begin += 64) {
    const std::span<const Value> some =
        values.subspan(begin, std::min<size_t>(64, values.size() - begin));
    uint64_t present = 0;
    for (size_t i = 0; i < some.size(); ++i) present |= uint64_t{!some[i].is_null()} << i;
    present_.push_back(present);
  }
}

void BatchCounts::Add(const TableInfo& table, std::string_view row_key, TimeUs time,
                      std::span<const ColumnRef> columns, std::span<const Value> values) {
  AddHashed(table, row_key, time, columns, values);
}

void BatchCounts::AddHashed(const TableInfo& table, std::string_view row_key, TimeUs time,
                            std::span<const ColumnRef> columns, std::span<const Value> values) {
  const size_t first = hashes_.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_null()) hashes_.push_back(HashColumn(columns[i]));
  }
  if (hashes_.size() == first) return;  // No cell, so no row either.
  puts_.push_back(
      {RowNumber(table, row_key), table.mode, hashes_.size() - first, time, nullptr, first});
}

uint32_t BatchCounts::RowNumber(const TableInfo& table, std::string_view row_key) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(row_key.data(), row_key.size(), table.id);
  const auto next = static_cast<uint32_t>(rows_.size());
  return rows_.try_emplace(RowHash{hash.low64, hash.high64}, next).first->second;
}

// All puts are of one row, in the order of the batch; of a history table also of one time.
uint64_t BatchCounts::CountGroup(std::span<const Put* const> puts) const {
  if (puts.size() == 1) return puts[0]->cells;
  if (puts[0]->mode == TableMode::kLatestRow) {
    const Put* newest = puts[0];
    for (const Put* put : puts) {
      if (put->time >= newest->time) newest = put;
    }
    return newest->cells;
  }
  const ColumnSet* set = puts[0]->set;
  if (set && std::all_of(puts.begin(), puts.end(), [&](const Put* p) { return p->set == set; })) {
    return CountOfSet(puts);
  }
  std::vector<uint64_t> distinct;
  for (const Put* put : puts) {
    if (put->set) {
      for (size_t i = 0; i < put->set->columns.size(); ++i) {
        if (HasColumn(*put, i)) distinct.push_back(HashColumn(put->set->columns[i].ref()));
      }
    } else {
      const auto first = hashes_.begin() + static_cast<std::ptrdiff_t>(put->first);
      distinct.insert(distinct.end(), first, first + static_cast<std::ptrdiff_t>(put->cells));
    }
  }
  std::sort(distinct.begin(), distinct.end());
  const auto end = std::unique(distinct.begin(), distinct.end());
  return static_cast<uint64_t>(end - distinct.begin());
}

// All are of one set.
uint64_t BatchCounts::CountOfSet(std::span<const Put* const> puts) const {
  const auto whole = std::ranges::find(puts, kWhole, &Put::first);
  if (whole != puts.end()) return (*whole)->cells;
  uint64_t cells = 0;
  for (size_t word = 0; word < (puts[0]->set->columns.size() + 63) / 64; ++word) {
    uint64_t any = 0;
    for (const Put* put : puts) any |= present_[put->first + word];
    cells += static_cast<uint64_t>(std::popcount(any));
  }
  return cells;
}

uint64_t BatchCounts::cells() const {
  uint64_t total = 0;
  if (rows_.size() == puts_.size()) {
    for (const Put& put : puts_) total += put.cells;
    return total;
  }
  std::vector<const Put*> sorted;
  for (const Put& put : puts_) sorted.push_back(&put);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Put* a, const Put* b) {
    if (a->row != b->row) return a->row < b->row;
    return a->mode == TableMode::kHistory && a->time < b->time;
  });
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (
        end < sorted.size() && sorted[end]->row == sorted[begin]->row &&
        (sorted[begin]->mode != TableMode::kHistory || sorted[end]->time == sorted[begin]->time)) {
      ++end;
    }
    total += CountGroup(std::span(sorted).subspan(begin, end - begin));
    begin = end;
  }
  return total;
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

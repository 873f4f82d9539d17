#include "tests/storage/model_table.h"

#include <algorithm>
#include <set>

#include "config/values/glob.h"

namespace tallyd {
namespace {

bool Holds(const KeyRange& range, const std::string& key) {
  return key >= range.start && (range.end.empty() || key < range.end);
}

bool IsAsked(const ScanSpec& spec, const std::string& key) {
  return std::any_of(spec.ranges.begin(), spec.ranges.end(),
                     [&](const KeyRange& range) { return Holds(range, key); });
}

bool IsSelected(const ScanSpec& spec, const StoredFamily& family, const std::string& qualifier) {
  if (!family.configured) return false;
  if (spec.columns.empty()) return true;
  return std::any_of(spec.columns.begin(), spec.columns.end(), [&](const ColumnPattern& pattern) {
    return GlobMatches(pattern.family, family.name) && GlobMatches(pattern.qualifier, qualifier);
  });
}

bool HasExpired(const Family& keep, TimeUs now, TimeUs time, uint32_t newer) {
  const bool aged = keep.max_age_us && time < now - *keep.max_age_us;
  const bool outdated = keep.max_versions && newer >= *keep.max_versions;
  if (keep.expire_by_both && keep.max_age_us && keep.max_versions) return aged && outdated;
  return aged || outdated;
}

std::string NameOf(const TableInfo& table, FamilyId family, const std::string& qualifier) {
  return table.families[family].name + ":" + qualifier + "@";
}

}  // namespace

OwnedValue::OwnedValue(const Value& value) : value_(value) {
  if (value.type() < ValueType::kString) return;
  text_ = std::make_shared<const std::string>(value.AsView());
  value_ = value.type() == ValueType::kString ? Value::String(*text_) : Value::Bytes(*text_);
}

namespace {

OwnedValue FoldAll(Aggregate kind, std::span<const OwnedValue> inputs) {
  AggregateFold fold(kind);
  for (const OwnedValue& input : inputs) fold.Add(input.value());
  std::string bytes;
  return OwnedValue(fold.Get(&bytes));
}

}  // namespace

ModelTable::Cell ModelTable::Folded(const Change& change, const Cell* before) {
  Cell cell{change.value};
  if (before != nullptr) cell = *before;
  cell.folded = change.folded;
  cell.may_be_gone = false;
  cell.inputs.push_back(change.value);
  cell.value = FoldAll(*cell.folded, cell.inputs);
  return cell;
}

// Whether the cell may read so: it began anew wherever something of it was removed.
bool ModelTable::MayBe(const Cell& cell, const std::string& text) {
  if (text == ToText(cell.value.value())) return true;
  for (size_t gone = 1; gone <= cell.inputs_may_go && gone < cell.inputs.size(); ++gone) {
    const std::span left = std::span(cell.inputs).subspan(gone);
    if (text == ToText(FoldAll(*cell.folded, left).value())) return true;
  }
  return false;
}

void ModelTable::Put(TableMode mode, const std::string& row, TimeUs time,
                     const std::vector<Change>& changes) {
  if (changes.empty()) return;
  Columns& columns = rows_[row];
  // Of latest tables: whether it is late. It then counts only where the newer one is gone.
  const auto is_late = [time](const Versions& cells) {
    return !cells.empty() && cells.begin()->first > time;
  };
  bool late = false;
  if (mode == TableMode::kLatestRow) {
    for (auto& [name, cells] : columns) {
      late = late || is_late(cells);
      cells.erase(time);
    }
  }
  for (const Change& change : changes) {
    Versions& cells = columns[{change.column.family, change.column.qualifier}];
    if (mode == TableMode::kLatestCell) late = is_late(cells);
    const auto before = cells.find(time);
    cells.insert_or_assign(
        time, change.folded ? Folded(change, before == cells.end() ? nullptr : &before->second)
                            : Cell{change.value, late});
    if (mode == TableMode::kLatestCell) DropOlderCells(&cells);
  }
  if (mode == TableMode::kLatestRow) DropOlderEvents(&columns);
  std::erase_if(columns, [](const auto& column) { return column.second.empty(); });
}

// What is older than a cell that is there for certain counts no more.
void ModelTable::DropOlderCells(Versions* cells) {
  const auto certain = std::find_if(cells->begin(), cells->end(),
                                    [](const auto& cell) { return !cell.second.may_be_gone; });
  if (certain != cells->end()) cells->erase(std::next(certain), cells->end());
}

void ModelTable::DropOlderEvents(Columns* columns) {
  TimeUs certain = -1;
  for (const auto& [name, cells] : *columns) {
    for (const auto& [time, cell] : cells) {
      if (!cell.may_be_gone) certain = std::max(certain, time);
    }
  }
  for (auto& [name, cells] : *columns) {
    std::erase_if(cells, [&](const auto& cell) { return cell.first < certain; });
  }
}

void ModelTable::Delete(const DeleteSpec& what) {
  for (auto& [key, columns] : rows_) {
    if (!Holds(what.rows, key)) continue;
    for (auto& [name, cells] : columns) {
      if (what.family && *what.family != name.first) continue;
      if (what.qualifier && *what.qualifier != name.second) continue;
      std::erase_if(cells, [&](const auto& cell) { return what.cells.Contains(cell.first); });
    }
  }
  DropEmpty();
}

void ModelTable::DropEmpty() {
  for (auto& [key, columns] : rows_) {
    std::erase_if(columns, [](const auto& column) { return column.second.empty(); });
  }
  std::erase_if(rows_, [](const auto& row) { return row.second.empty(); });
}

void ModelTable::Expire(const TableInfo& table, TimeUs now) {
  for (auto& [key, columns] : rows_) {
    for (auto& [name, cells] : columns) {
      const StoredFamily& family = table.families[name.first];
      if (!family.configured) continue;
      uint32_t newer = 0;
      for (auto& [time, cell] : cells) {
        if (HasExpired(family.rules, now, time, newer)) {
          cell.may_be_gone = true;
          cell.inputs_may_go = cell.inputs.size();
        }
        ++newer;
      }
    }
  }
}

void ModelTable::LetGo(TimeUs until) {
  for (auto& [key, columns] : rows_) {
    for (auto& [name, cells] : columns) {
      for (auto& [time, cell] : cells) {
        if (time >= until) continue;
        cell.may_be_gone = true;
        cell.inputs_may_go = cell.inputs.size();
      }
    }
  }
}

// Whether a scan gives a cell that is there.
bool ModelTable::IsGiven(const TableInfo& table, const ScanSpec& spec, FamilyId family, TimeUs time,
                         const Newer& newer) {
  if (table.mode != TableMode::kHistory && newer.there > 0) return false;
  if (HasExpired(table.families[family].rules, spec.now, time, newer.there)) return false;
  return spec.cells.Contains(time) && (spec.versions == 0 || newer.given < spec.versions);
}

std::vector<ModelTable::ReadRow> ModelTable::Read(const TableInfo& table,
                                                  const ScanSpec& spec) const {
  std::vector<ReadRow> rows;
  for (const auto& [key, columns] : rows_) {
    if (!IsAsked(spec, key)) continue;
    TimeUs newest = -1;  // Of latest rows: its event.
    for (const auto& [name, cells] : columns) newest = std::max(newest, cells.begin()->first);
    ReadRow row{key, {}};
    for (const auto& [name, cells] : columns) {
      if (table.mode == TableMode::kLatestRow && cells.begin()->first < newest) continue;
      if (!IsSelected(spec, table.families[name.first], name.second)) continue;
      Newer newer;
      for (const auto& [time, cell] : cells) {
        const bool given = IsGiven(table, spec, name.first, time, newer);
        if (given) row.cells.push_back({time, {name.first, name.second}, cell.value});
        newer = {newer.there + 1, newer.given + (given ? 1 : 0)};
      }
    }
    std::sort(row.cells.begin(), row.cells.end(), [&](const ReadCell& a, const ReadCell& b) {
      if (a.time != b.time) return a.time > b.time;
      if (a.column.family == b.column.family) return a.column.qualifier < b.column.qualifier;
      return table.families[a.column.family].name < table.families[b.column.family].name;
    });
    if (row.cells.empty()) continue;
    const TimeUs first = row.cells.front().time;
    if (spec.keys_only) std::erase_if(row.cells, [&](const auto& c) { return c.time < first; });
    rows.push_back(std::move(row));
  }
  if (spec.reverse) std::reverse(rows.begin(), rows.end());
  return rows;
}

bool ModelTable::Accepts(const TableInfo& table, const ScanSpec& spec, const Rows& answer) const {
  std::vector<const std::pair<const std::string, Columns>*> asked;
  for (const auto& row : rows_) {
    if (IsAsked(spec, row.first)) asked.push_back(&row);
  }
  if (spec.reverse) std::reverse(asked.begin(), asked.end());
  if (spec.limit > 0 && answer.size() > spec.limit) return false;
  size_t next = 0;
  for (const auto* row : asked) {
    if (spec.limit > 0 && next == spec.limit) break;
    const bool is_there = next < answer.size() && answer[next].first == row->first;
    if (!AcceptsRow(table, spec, row->second, is_there ? answer[next].second : Cells())) {
      return false;
    }
    if (is_there) ++next;
  }
  return next == answer.size();
}

bool ModelTable::AcceptsRow(const TableInfo& table, const ScanSpec& spec, const Columns& columns,
                            const Cells& answer) {
  if (table.mode == TableMode::kLatestRow) return AcceptsEvent(table, spec, columns, answer);
  size_t known = 0;
  for (const auto& [name, cells] : columns) {
    const std::string prefix = NameOf(table, name.first, name.second);
    std::map<TimeUs, std::string> of_column;
    for (auto cell = answer.lower_bound(prefix);
         cell != answer.end() && cell->first.starts_with(prefix); ++cell) {
      of_column[std::stoll(cell->first.substr(prefix.size()))] = cell->second;
    }
    known += of_column.size();
    if (!IsSelected(spec, table.families[name.first], name.second)) {
      if (!of_column.empty()) return false;
    } else if (!AcceptsColumn(table, spec, name.first, cells, of_column)) {
      return false;
    }
  }
  return known == answer.size();
}

// Whether some of the cells that may be gone can be gone, so that the others give this answer.
bool ModelTable::AcceptsColumn(const TableInfo& table, const ScanSpec& spec, FamilyId family,
                               const Versions& cells, const std::map<TimeUs, std::string>& answer) {
  std::set<Newer> possible = {Newer{}};
  size_t found = 0;
  for (const auto& [time, cell] : cells) {
    const auto answered = answer.find(time);
    const bool is_answered = answered != answer.end();
    if (is_answered && !MayBe(cell, answered->second)) return false;
    found += is_answered ? 1 : 0;
    std::set<Newer> next;
    for (const Newer& newer : possible) {
      if (cell.may_be_gone && !is_answered) next.insert(newer);
      const bool given = IsGiven(table, spec, family, time, newer);
      if (given == is_answered) next.insert({newer.there + 1, newer.given + (given ? 1 : 0)});
    }
    possible = std::move(next);
  }
  return !possible.empty() && found == answer.size();
}

// The newest event counts, or where all of it may be gone one before it.
bool ModelTable::AcceptsEvent(const TableInfo& table, const ScanSpec& spec, const Columns& columns,
                              const Cells& answer) {
  std::map<TimeUs, std::vector<Columns::const_iterator>, std::greater<>> events;
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    for (const auto& [time, cell] : column->second) events[time].push_back(column);
  }
  for (const auto& [time, event] : events) {
    bool certain = false;
    bool accepted = true;
    size_t found = 0;
    for (const auto& column : event) {
      const auto& [name, cells] = *column;
      const Versions::value_type& cell = *cells.find(time);
      certain = certain || !cell.second.may_be_gone;
      const bool visible = IsSelected(spec, table.families[name.first], name.second) &&
                           IsGiven(table, spec, name.first, time, {});
      const auto given = answer.find(NameOf(table, name.first, name.second) + std::to_string(time));
      if (given == answer.end()) {
        accepted = accepted && (!visible || cell.second.may_be_gone);
        continue;
      }
      ++found;
      accepted = accepted && visible && given->second == ToText(cell.second.value.value());
    }
    if (accepted && found == answer.size()) return true;
    if (certain) return false;
  }
  return answer.empty();
}

}  // namespace tallyd

#include "tests/storage/store_verbs.h"

#include <gtest/gtest.h>

namespace tallyd {

Table MakeTable(const std::string& name, Pattern pattern, bool keep_row) {
  Table table;
  table.name = name;
  table.stream = "s";
  table.pattern = pattern;
  table.keep_row = keep_row;
  for (const char* family : {"A", "B"}) table.families.emplace_back().name = family;
  return table;
}

Schema MakeSchema(std::vector<Table> tables) {
  Schema schema;
  schema.streams.emplace_back().name = "s";
  schema.tables = std::move(tables);
  return schema;
}

DeleteSpec RowDelete(const std::string& start, const std::string& end) {
  DeleteSpec what;
  what.rows = {start, end};
  return what;
}

KeyRange OneRow(const std::string& row) { return {row, row + std::string(1, '\0')}; }

void StoreVerbs::Put(Batch* batch, const std::string& table, const std::string& row, TimeUs time,
                     const std::vector<TestCell>& cells, bool by_set) {
  const TablePtr info = Find(table);
  std::vector<ColumnRef> columns;
  for (const TestCell& cell : cells) {
    columns.push_back({*info->FindFamily(cell.family), cell.qualifier});
  }
  std::vector<Value> values;
  const ColumnSet* set = by_set ? store().InternColumns(*info, columns) : nullptr;
  if (set == nullptr) {
    for (const TestCell& cell : cells) values.push_back(cell.value);
    batch->Put(*info, row, time, columns, values);
    return;
  }
  for (const Column& column : set->columns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == column.ref()) values.push_back(cells[i].value);
    }
  }
  batch->Put(*info, row, time, *set, values);
}

void StoreVerbs::Delete(Batch* batch, const std::string& table, const DeleteSpec& what) {
  batch->Delete(*Find(table), what);
}

Status StoreVerbs::Commit(std::unique_ptr<Batch> batch) { return store().Commit(std::move(batch)); }

Status StoreVerbs::Write(const std::string& table, const std::string& row, TimeUs time,
                         const std::vector<TestCell>& cells, bool by_set) {
  auto batch = NewBatch();
  Put(batch.get(), table, row, time, cells, by_set);
  return Commit(std::move(batch));
}

Status StoreVerbs::Erase(const std::string& table, const DeleteSpec& what) {
  auto batch = NewBatch();
  Delete(batch.get(), table, what);
  return Commit(std::move(batch));
}

Result<Rows> StoreVerbs::TryRead(const std::string& table, ScanSpec spec) {
  if (spec.now == 0) spec.now = clock.Now();
  const TablePtr info = Find(table);
  const auto scan = store().Scan(info, spec);
  Rows rows;
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return rows;
    const Row& row = scan->row();
    auto& [key, cells] = rows.emplace_back(std::string(row.key), Cells());
    AddRow(*info, row, &cells);
  }
}

void StoreVerbs::AddRow(const TableInfo& table, const Row& row, Cells* cells) {
  TimeUs last = kMaxTimeUs + 1;
  for (const RowPart& part : row.parts) {
    EXPECT_LT(part.time, last) << "parts come newest first";
    last = part.time;
    EXPECT_LT(part.begin, part.end) << "no part is empty";
    std::string previous;
    for (const CellView& cell : row.CellsOf(part)) {
      const std::string name =
          table.families[cell.column.family].name + ":" + std::string(cell.column.qualifier);
      EXPECT_LT(previous, name) << "cells come in read order";
      previous = name;
      if (part.set != nullptr) {
        EXPECT_EQ(part.set->columns[cell.set_index].ref(), cell.column);
      }
      (*cells)[name + "@" + std::to_string(part.time)] = ToText(cell.value);
    }
  }
}

Result<Rows> StoreVerbs::TryReadRuns(const std::string& table, ScanSpec spec) {
  if (spec.now == 0) spec.now = clock.Now();
  const TablePtr info = Find(table);
  const auto scan = store().ScanRuns(info, spec);
  Rows rows;
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return rows;
    const ColumnRun* run = scan->run();
    const std::string_view key = run ? run->first_key : scan->row().key;
    if (rows.empty() || rows.back().first != key) rows.emplace_back(std::string(key), Cells());
    Cells* cells = &rows.back().second;
    run ? AddRun(*info, *run, cells) : AddRow(*info, scan->row(), cells);
  }
}

void StoreVerbs::AddRun(const TableInfo& table, const ColumnRun& run, Cells* cells) {
  EXPECT_EQ(run.key_time, KeyTime::kNone) << "keys of these tests hold no times";
  EXPECT_EQ(run.first_key, run.last_key);
  for (const RunColumn& column : run.columns) {
    const std::string name = table.families[column.column.family].name + ":" +
                             std::string(column.column.qualifier) + "@";
    EXPECT_FALSE(column.times.empty());
    for (size_t i = 0; i < column.times.size(); ++i) {
      const Value value = column.data->At(column.begin + i);
      const auto [place, added] =
          cells->emplace(name + std::to_string(column.times[i]), ToText(value));
      EXPECT_TRUE(added) << "each cell comes once";
    }
  }
}

Rows StoreVerbs::Read(const std::string& table, ScanSpec spec) {
  Result<Rows> rows = TryRead(table, std::move(spec));
  if (rows) return *rows;
  ADD_FAILURE() << rows.error().message();
  return {};
}

Rows StoreVerbs::ReadRuns(const std::string& table, ScanSpec spec) {
  Result<Rows> rows = TryReadRuns(table, std::move(spec));
  if (rows) return *rows;
  ADD_FAILURE() << rows.error().message();
  return {};
}

}  // namespace tallyd

#include "tests/storage/store_fixture.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace tallyd {

namespace {

// In memory where there is room: these tests sync by the thousand.
std::filesystem::path TempRoot() {
  constexpr uint64_t kRoom = 1u << 30;
  std::error_code none;
  const auto space = std::filesystem::space("/dev/shm", none);
  if (!none && space.available >= kRoom && ::access("/dev/shm", W_OK) == 0) return "/dev/shm";
  return std::filesystem::temp_directory_path();
}

}  // namespace

TempDir::TempDir() {
  std::string pattern = TempRoot() / "tallyd-storage-XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

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

StoreHarness::StoreHarness(StoreEnv* env) : env_(env) {
  // Tests fail writes by the hundred. TALLYD_TEST_LOG shows what the store says.
  spdlog::set_level(std::getenv("TALLYD_TEST_LOG") ? spdlog::level::trace : spdlog::level::off);
  config_.path = dir_.path() + "/db";
  config_.write_buffer = 256u << 10;
  config_.block_cache = 1u << 20;
  config_.ballast = 0;
  config_.free_space_floor = 0;
}

StoreHarness::~StoreHarness() { Close(); }

Status StoreHarness::TryOpen() {
  store_.reset();
  own_registry_ = std::make_unique<prometheus::Registry>();
  LevelDbStoreOptions options;
  options.storage = config_;
  options.clock = &clock;
  options.registry = own_registry_.get();
  options.env = env_;
  options.measure = measure;
  options.rows_at_once = rows_at_once_;
  Result<std::unique_ptr<Store>> opened = OpenLevelDbStore(options);
  if (!opened) return opened.error();
  store_ = std::move(*opened);
  return {};
}

void StoreHarness::Open() {
  const Status opened = TryOpen();
  ASSERT_TRUE(opened) << opened.error().message();
}

void StoreHarness::Reopen() {
  Open();
  if (!store_) return;
  const Status adopted = store_->Adopt(adopted_);
  ASSERT_TRUE(adopted) << adopted.error().message();
}

Status StoreHarness::Adopt(const Schema& schema) {
  Status adopted = store_->Adopt(schema);
  if (adopted) adopted_ = schema;
  return adopted;
}

void StoreHarness::Put(Batch* batch, const std::string& table, const std::string& row, TimeUs time,
                       const std::vector<TestCell>& cells, bool by_set) {
  const TablePtr info = Find(table);
  std::vector<ColumnRef> columns;
  for (const TestCell& cell : cells) {
    columns.push_back({*info->FindFamily(cell.family), cell.qualifier});
  }
  std::vector<Value> values;
  if (!by_set) {
    for (const TestCell& cell : cells) values.push_back(cell.value);
    batch->Put(*info, row, time, columns, values);
    return;
  }
  const ColumnSet* set = store_->InternColumns(*info, columns);
  ASSERT_NE(set, nullptr);
  for (const Column& column : set->columns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == column.ref()) values.push_back(cells[i].value);
    }
  }
  batch->Put(*info, row, time, *set, values);
}

void StoreHarness::Delete(Batch* batch, const std::string& table, const DeleteSpec& what) {
  batch->Delete(*Find(table), what);
}

Status StoreHarness::Commit(std::unique_ptr<Batch> batch) {
  return store_->Commit(std::move(batch));
}

Status StoreHarness::Write(const std::string& table, const std::string& row, TimeUs time,
                           const std::vector<TestCell>& cells, bool by_set) {
  auto batch = NewBatch();
  Put(batch.get(), table, row, time, cells, by_set);
  return Commit(std::move(batch));
}

Status StoreHarness::Erase(const std::string& table, const DeleteSpec& what) {
  auto batch = NewBatch();
  Delete(batch.get(), table, what);
  return Commit(std::move(batch));
}

Result<Rows> StoreHarness::TryRead(const std::string& table, ScanSpec spec) {
  if (spec.now == 0) spec.now = clock.Now();
  const TablePtr info = Find(table);
  const auto scan = store_->Scan(info, spec);
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

void StoreHarness::AddRow(const TableInfo& table, const Row& row, Cells* cells) {
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

Rows StoreHarness::ReadRuns(const std::string& table, const ScanSpec& spec) {
  const TablePtr info = Find(table);
  const auto scan = store_->ScanRuns(info, spec);
  Rows rows;
  const auto cells_of = [&](std::string_view key) {
    if (rows.empty() || rows.back().first != key) rows.emplace_back(std::string(key), Cells());
    return &rows.back().second;
  };
  while (true) {
    const Result<bool> more = scan->Next();
    EXPECT_TRUE(more);
    if (!more || !*more) return rows;
    if (scan->run() == nullptr) {
      AddRow(*info, scan->row(), cells_of(scan->row().key));
      continue;
    }
    const ColumnRun& run = *scan->run();
    EXPECT_EQ(run.key_time, KeyTime::kNone) << "keys of these tests hold no times";
    EXPECT_EQ(run.first_key, run.last_key);
    for (const RunColumn& column : run.columns) {
      const std::string name = info->families[column.column.family].name + ":" +
                               std::string(column.column.qualifier) + "@";
      for (size_t i = 0; i < run.times.size(); ++i) {
        const auto [place, added] = cells_of(run.first_key)
                                        ->emplace(name + std::to_string(run.times[i]),
                                                  ToText(column.data->At(column.begin + i)));
        EXPECT_TRUE(added) << "each cell comes once";
      }
    }
  }
}

Rows StoreHarness::Read(const std::string& table, ScanSpec spec) {
  Result<Rows> rows = TryRead(table, std::move(spec));
  if (rows) return *rows;
  ADD_FAILURE() << rows.error().message();
  return {};
}

double StoreHarness::Metric(const std::string& name) const {
  double sum = 0;
  for (const prometheus::MetricFamily& family : own_registry_->Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) sum += metric.counter.value + metric.gauge.value;
  }
  return sum;
}

double StoreHarness::Gauge(const std::string& name) {
  double sum = 0;
  for (const StoreGauge& gauge : store_->State().gauges) {
    if (gauge.name == name) sum += gauge.value;
  }
  return sum;
}

void StoreHarness::AwaitPurge() {
  const Status settled = store_->Settle();
  EXPECT_TRUE(settled) << settled.error().message();
  EXPECT_EQ(Told("pending_deletes"), 0u);
}

std::vector<std::pair<std::string, uint64_t>> StoreHarness::CutTails() {
  std::vector<std::pair<std::string, uint64_t>> tails;
  for (const StoreMember& member : store_->State().members) {
    if (member.name != "cut_tails") continue;
    for (const StoreMember& tail : std::get<StoreMember::Members>(member.value)) {
      const auto& told = std::get<StoreMember::Members>(tail.value);
      tails.emplace_back(std::get<std::string>(told[0].value), std::get<uint64_t>(told[1].value));
    }
  }
  return tails;
}

uint64_t StoreHarness::Told(const std::string& member) {
  for (const StoreMember& told : store_->State().members) {
    if (told.name == member) return std::get<uint64_t>(told.value);
  }
  ADD_FAILURE() << member << " is not told";
  return 0;
}

}  // namespace tallyd

// Random writes, late writes, deletes and reopens against a plain model, read in random ways.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

// (family, qualifier) -> time -> what was written last.
using ModelColumns = std::map<std::pair<std::string, std::string>, std::map<TimeUs, std::string>>;

struct ModelRow {
  ModelColumns columns;
};

struct ModelTable {
  TableMode mode = TableMode::kHistory;
  std::map<std::string, ModelRow> rows;
};

void DropEmpty(ModelTable* table) {
  for (auto& [key, row] : table->rows) {
    std::erase_if(row.columns, [](const auto& column) { return column.second.empty(); });
  }
  std::erase_if(table->rows, [](const auto& row) { return row.second.columns.empty(); });
}

void ModelPut(ModelTable* table, const std::string& key, TimeUs time,
              const std::vector<TestCell>& cells) {
  if (std::all_of(cells.begin(), cells.end(),
                  [](const TestCell& c) { return c.value.is_null(); })) {
    return;
  }
  ModelColumns& columns = table->rows[key].columns;
  if (table->mode == TableMode::kLatestRow) {
    TimeUs newest = -1;
    for (const auto& [name, times] : columns) newest = std::max(newest, times.rbegin()->first);
    if (newest > time) return;
    columns.clear();
  }
  for (const TestCell& cell : cells) {
    if (cell.value.is_null()) continue;
    auto& times = columns[{cell.family, cell.qualifier}];
    if (table->mode != TableMode::kHistory) {
      if (!times.empty() && times.rbegin()->first > time) continue;
      times.clear();
    }
    times[time] = ToText(cell.value);
  }
  DropEmpty(table);
}

bool Holds(const KeyRange& range, const std::string& key) {
  return key >= range.start && (range.end.empty() || key < range.end);
}

class ModelTest : public ::testing::TestWithParam<unsigned>, public StoreHarness {
 protected:
  static constexpr int kSteps = 250;
  static constexpr TimeUs kTimes = 12;
  static constexpr TimeUs kStrayTime = 4'102'444'800'000'000;  // The year 2100.

  ModelTest() : random_(GetParam()) {}

  void SetUp() override {
    // Heads of a few batches, windows of a few of the times.
    config().write_buffer = 2u << 10;
    config().seal_window_us = 1 + GetParam() % 7;
    set_rows_at_once(GetParam() % 2 == 0 ? 2000 : GetParam() / 2 % 4);
    clock.now = 0;  // It moves, never beyond what a scan takes for now.
    Table aged = MakeTable("G");
    aged.families[0].max_versions = 2;
    aged.families[1].max_age_us = 6;
    Table both = MakeTable("G2");
    both.families[0].max_versions = 1;
    both.families[0].max_age_us = 5;
    both.families[0].expire_by_both = true;
    Table aged_cells = MakeTable("LA", Pattern::kLatest);
    aged_cells.families[1].max_age_us = 6;
    Table aged_rows = MakeTable("RA", Pattern::kLatest, true);
    aged_rows.families[0].max_age_us = 4;
    aged_rows.families[1].max_age_us = 6;
    schema_ = MakeSchema({MakeTable("H"), aged, both, MakeTable("L", Pattern::kLatest),
                          MakeTable("R", Pattern::kLatest, true), aged_cells, aged_rows});
    Open();
    ASSERT_TRUE(Adopt(schema_));
    for (const char* table : {"L", "LA"}) model_[table].mode = TableMode::kLatestCell;
    for (const char* table : {"R", "RA"}) model_[table].mode = TableMode::kLatestRow;
  }

  uint64_t Random(uint64_t n) { return random_() % n; }

  std::string RandomRow() {
    std::string row(1 + Random(2), 'a');
    for (char& c : row) c = "abc\0"[Random(4)];
    return row;
  }

  void RandomPut(Batch* batch, const std::string& table) {
    const std::string row = RandomRow();
    auto time = static_cast<TimeUs>(Random(kTimes));
    if (Random(20) == 0) time = kStrayTime - time;
    std::vector<TestCell> cells;
    for (const char* family : {"A", "B"}) {
      for (const char* qualifier : {"x", "y"}) {
        if (Random(2) == 0) continue;
        cells.push_back({family, qualifier, Value()});
        const uint64_t kind = Random(6);
        if (kind == 1) cells.back().value = Value::String("text");
        if (kind > 1) cells.back().value = Value::Int(static_cast<int64_t>(Random(1000)));
      }
    }
    if (cells.empty()) return;
    if (Random(2) == 0) std::reverse(cells.begin(), cells.end());
    Put(batch, table, row, time, cells, Random(3) > 0);
    ModelPut(&model_[table], row, time, cells);
  }

  void RandomDelete(Batch* batch, const std::string& table) {
    DeleteSpec what;
    what.rows = Random(2) == 0 ? OneRow(RandomRow()) : RandomRange();
    if (Random(2) == 0) {
      what.family = *Find(table)->FindFamily(Random(2) == 0 ? "A" : "B");
      if (Random(2) == 0) what.qualifier = Random(2) == 0 ? "x" : "y";
    }
    if (Random(2) == 0) what.cells = RandomTimes();
    Delete(batch, table, what);
    for (auto& [key, row] : model_[table].rows) {
      if (!Holds(what.rows, key)) continue;
      for (auto& [name, times] : row.columns) {
        if (what.family && Find(table)->families[*what.family].name != name.first) continue;
        if (what.qualifier && *what.qualifier != name.second) continue;
        std::erase_if(times, [&](const auto& cell) { return what.cells.Contains(cell.first); });
      }
    }
    DropEmpty(&model_[table]);
  }

  KeyRange RandomRange() {
    KeyRange range;
    if (Random(3) > 0) range.start = RandomRow();
    if (Random(3) > 0) range.end = RandomRow();
    return range;
  }

  // Disjoint and in order; some are empty, some touch.
  std::vector<KeyRange> RandomRanges() {
    std::vector<std::string> cuts;
    for (uint64_t n = 2 * (1 + Random(4)); n > 0; --n) cuts.push_back(RandomRow());
    std::sort(cuts.begin(), cuts.end());
    if (Random(3) == 0) cuts.front().clear();
    if (Random(3) == 0) cuts.back().clear();
    std::vector<KeyRange> ranges;
    for (size_t i = 0; i < cuts.size(); i += 2) ranges.push_back({cuts[i], cuts[i + 1]});
    return ranges;
  }

  TimeRange RandomTimes() {
    const auto from = static_cast<TimeUs>(Random(kTimes));
    return {from, from + 1 + static_cast<TimeUs>(Random(kTimes))};
  }

  ScanSpec RandomSpec() {
    ScanSpec spec;
    spec.now = kTimes;
    if (Random(2) == 0) spec.ranges = RandomRanges();
    if (Random(4) == 0) spec.limit = 1 + Random(5);
    if (Random(2) == 0) spec.cells = RandomTimes();
    if (Random(3) == 0) spec.versions = static_cast<uint32_t>(1 + Random(2));
    if (Random(3) == 0) spec.columns = {{"A", Random(2) == 0 ? "*" : "x"}};
    spec.reverse = Random(3) == 0;
    return spec;
  }

  // What the store should return.
  Rows Expect(const std::string& table, const ScanSpec& spec) {
    Rows rows;
    const Table* schema = schema_.FindTable(table);
    for (const auto& [key, row] : model_[table].rows) {
      const auto holds = [&](const KeyRange& range) { return Holds(range, key); };
      if (std::none_of(spec.ranges.begin(), spec.ranges.end(), holds)) continue;
      Cells cells;
      for (const auto& [name, times] : row.columns) {
        if (!spec.columns.empty() &&
            (name.first != "A" ||
             (spec.columns[0].qualifier != "*" && name.second != spec.columns[0].qualifier))) {
          continue;
        }
        AddColumn(*schema->FindFamily(name.first), name.first + ":" + name.second, times, spec,
                  &cells);
      }
      if (!cells.empty()) rows.emplace_back(key, cells);
    }
    if (spec.reverse) std::reverse(rows.begin(), rows.end());
    if (spec.limit > 0 && rows.size() > spec.limit) rows.resize(spec.limit);
    return rows;
  }

  static void AddColumn(const Family& family, const std::string& name,
                        const std::map<TimeUs, std::string>& times, const ScanSpec& spec,
                        Cells* cells) {
    uint32_t version = 0;
    uint32_t returned = 0;
    for (auto cell = times.rbegin(); cell != times.rend(); ++cell, ++version) {
      const bool aged = family.max_age_us && cell->first < spec.now - *family.max_age_us;
      const bool outdated = family.max_versions && version >= *family.max_versions;
      if (family.expire_by_both ? aged && outdated : aged || outdated) continue;
      if (!spec.cells.Contains(cell->first)) continue;
      if (spec.versions > 0 && returned >= spec.versions) continue;
      ++returned;
      (*cells)[name + "@" + std::to_string(cell->first)] = cell->second;
    }
  }

  std::mt19937_64 random_;
  Schema schema_;
  std::map<std::string, ModelTable> model_;
};

TEST_P(ModelTest, TheStoreAnswersLikeTheModel) {
  for (int step = 0; step < kSteps; ++step) {
    auto batch = NewBatch();
    for (uint64_t n = 1 + Random(6); n > 0; --n) {
      const std::string table = schema_.tables[Random(schema_.tables.size())].name;
      // What a delete leaves of versions beyond max_versions depends on what is still on the disk.
      if (Random(12) == 0 && !table.starts_with("G")) {
        RandomDelete(batch.get(), table);
      } else {
        RandomPut(batch.get(), table);
      }
    }
    const Status committed = Commit(std::move(batch));
    ASSERT_TRUE(committed) << committed.error().message();
    if (Random(20) == 0 && clock.now < kTimes) clock.Pass(1);
    if (Random(60) == 0) {
      config().seal_window_us = static_cast<int64_t>(1 + Random(9));
      Reopen();
    }
    if (Random(40) == 0) AwaitPurge();
    if (Random(30) == 0) {
      ASSERT_TRUE(store().Settle());
    }
    for (const Table& table : schema_.tables) {
      const ScanSpec spec = RandomSpec();
      ASSERT_EQ(Read(table.name, spec), Expect(table.name, spec))
          << "seed " << GetParam() << " step " << step << " table " << table.name;
      ScanSpec forward = spec;
      forward.reverse = false;
      if (Random(2) == 0) forward.limit = 0;
      ASSERT_EQ(ReadRuns(table.name, forward), Expect(table.name, forward))
          << "seed " << GetParam() << " step " << step << " table " << table.name;
    }
  }
}

TEST_P(ModelTest, SkippingFindsTheSameRowsAsReadingOn) {
  auto batch = NewBatch();
  for (int i = 0; i < 200; ++i) RandomPut(batch.get(), Random(2) == 0 ? "H" : "L");
  ASSERT_TRUE(Commit(std::move(batch)));
  for (const char* table : {"H", "L"}) {
    for (int i = 0; i < 100; ++i) {
      ScanSpec spec = RandomSpec();
      spec.limit = 0;  // It counts rows that are returned, and skipped ones are not.
      Rows left = Expect(table, spec);
      const auto scan = store().Scan(Find(table), spec);
      while (true) {
        if (Random(2) == 0) {
          const std::string target = RandomRow();
          scan->SkipTo(target);
          std::erase_if(left, [&](const auto& row) {
            return spec.reverse ? row.first > target : row.first < target;
          });
        }
        const Result<bool> more = scan->Next();
        ASSERT_TRUE(more);
        ASSERT_EQ(*more, !left.empty());
        if (!*more) break;
        ASSERT_EQ(scan->row().key, left.front().first);
        left.erase(left.begin());
      }
    }
  }
}

TEST_P(ModelTest, KeysOnlyBringsEachRowsNewestPart) {
  auto batch = NewBatch();
  for (int i = 0; i < 200; ++i) RandomPut(batch.get(), Random(2) == 0 ? "H" : "L");
  ASSERT_TRUE(Commit(std::move(batch)));
  for (const char* table : {"H", "L"}) {
    ScanSpec spec = RandomSpec();
    spec.versions = 0;
    const Rows all = Expect(table, spec);
    spec.keys_only = true;
    const auto scan = store().Scan(Find(table), spec);
    for (const auto& [key, cells] : all) {
      ASSERT_TRUE(*scan->Next());
      EXPECT_EQ(scan->row().key, key);
      ASSERT_EQ(scan->row().parts.size(), 1u);
      TimeUs newest = 0;
      for (const auto& [name, text] : cells) {
        newest = std::max<TimeUs>(newest, std::stoll(name.substr(name.find('@') + 1)));
      }
      EXPECT_EQ(scan->row().parts[0].time, newest);
    }
    EXPECT_FALSE(*scan->Next());
  }
}

// TALLYD_TEST_SEEDS raises the number of runs.
unsigned Seeds() {
  const char* wanted = std::getenv("TALLYD_TEST_SEEDS");
  return wanted ? static_cast<unsigned>(std::atoi(wanted)) : 12;
}
INSTANTIATE_TEST_SUITE_P(Seeds, ModelTest, ::testing::Range(1u, 1 + Seeds()));

}  // namespace
}  // namespace tallyd

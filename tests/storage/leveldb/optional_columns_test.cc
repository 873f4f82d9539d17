// Events that carry another choice of their fields each: sealed, merged and read as a model says,
// by rows and by runs, and in blocks by presence.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "storage/blocks/column_block.h"
#include "storage/leveldb/tools/block_check.h"
#include "tests/storage/model_store.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class OptionalColumnsTest : public ::testing::TestWithParam<unsigned>, public StoreHarness {
 protected:
  static constexpr int kColumns = 30;
  static constexpr TimeUs kStart = 1'700'000'000'000'000;

  class Model : public StoreVerbs {
   public:
    Store& store() override { return store_; }
    ModelStore& model() { return store_; }

   private:
    ModelDisk disk_;
    ModelStore store_{&disk_, &clock};
  };

  void SetUp() override {
    config().seal_window_us = 200 * kUsPerSecond;
    clock.now = kStart + kUsPerDay;
    Open();
    Table table = MakeTable("H");
    if (GetParam() % 3 == 0) table.families[0].max_versions = 3;
    Table folded = MakeTable("S");
    folded.families[0].aggregate = Aggregate::kSum;
    folded.families[1].aggregate = Aggregate::kMax;
    const Schema schema = MakeSchema({table, folded});
    ASSERT_TRUE(Adopt(schema));
    ASSERT_TRUE(model_.store().Adopt(schema));
  }

  bool OneIn(uint64_t n) { return random_() % n == 0; }
  TimeUs RandomTime() { return kStart + static_cast<TimeUs>(random_() % 500) * kUsPerSecond; }

  std::vector<TestCell> RandomCells(bool folded) {
    std::vector<TestCell> cells;
    for (int c = 0; c < kColumns; ++c) {
      cells.push_back({c % 3 == 0 ? "B" : "A", "c" + std::to_string(c), Value()});
      if (OneIn(2)) continue;
      Value& value = cells.back().value;
      value = Value::Int(static_cast<int64_t>(random_() % 1000));
      if (!folded && c % 5 == 0) value = Value::Decimal(value.AsInt(), 2);
      if (!folded && c % 7 == 0) value = Value::String(OneIn(2) ? "open" : "closed");
    }
    cells[random_() % kColumns].value = Value::Int(1);
    return cells;
  }
  void Write(int count) {
    auto batch = NewBatch();
    auto model_batch = model_.NewBatch();
    for (int i = 0; i < count; ++i) {
      const bool folded = OneIn(4);
      const std::string table = folded ? "S" : "H";
      const std::string row = "r" + std::to_string(random_() % 3);
      const TimeUs time = RandomTime();
      const std::vector<TestCell> cells = RandomCells(folded);
      Put(batch.get(), table, row, time, cells, !OneIn(3));
      model_.Put(model_batch.get(), table, row, time, cells);
    }
    ASSERT_TRUE(Commit(std::move(batch)));
    ASSERT_TRUE(model_.Commit(std::move(model_batch)));
  }
  void DeleteSome() {
    DeleteSpec what;
    what.rows = OneRow("r" + std::to_string(random_() % 3));
    what.cells.from = RandomTime();
    what.cells.to = what.cells.from + 20 * kUsPerSecond;
    if (OneIn(2)) what.family = Find("H")->FindFamily("A");
    if (what.family && OneIn(2)) what.qualifier = "c" + std::to_string(random_() % kColumns);
    ASSERT_TRUE(Erase("H", what));
    if (what.family) what.family = model_.Find("H")->FindFamily("A");
    ASSERT_TRUE(model_.Erase("H", what));
  }
  void Check() {
    for (int i = 0; i < 6 && !HasFailure(); ++i) {
      ScanSpec spec;
      spec.now = clock.Now();
      if (i > 0 && OneIn(2)) spec.ranges = {OneRow("r1")};
      if (i > 0 && OneIn(2)) spec.cells = {RandomTime(), RandomTime()};
      if (i > 1) spec.columns = {{"*", "c" + std::to_string(random_() % kColumns)}};
      if (i > 2) spec.columns.push_back({"B", "*"});
      if (i == 5) spec.versions = 2;
      for (const std::string table : {"H", "S"}) {
        EXPECT_TRUE(model_.model().Accepts(table, spec, Read(table, spec))) << table << " " << i;
        EXPECT_TRUE(model_.model().Accepts(table, spec, ReadRuns(table, spec)))
            << table << " " << i;
      }
    }
  }
  // How many blocks of the store's files have this version; their files are checked.
  int Blocks(uint8_t version) {
    int blocks = 0;
    for (const auto& entry : std::filesystem::directory_iterator(config().path + "/blocks")) {
      const Result<BlockFileCheck> file =
          BlockFileCheck::Open(leveldb::Env::Default(), entry.path());
      if (!file) continue;  // Not written to its end, or gone.
      BlockChecker checker(file->description());
      std::string bytes;
      for (const BlockPlace& place : file->index().blocks()) {
        EXPECT_TRUE(file->Read(place, &bytes));
        EXPECT_TRUE(checker.Check(place, bytes));
        blocks += static_cast<uint8_t>(bytes[0]) == version;
      }
      EXPECT_TRUE(checker.CheckSums());
    }
    return blocks;
  }

  std::mt19937_64 random_{GetParam()};
  Model model_;
};

TEST_P(OptionalColumnsTest, WhateverIsSealedAndMergedIsReadAsItWasWritten) {
  int by_presence = 0;
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    Write(1 + static_cast<int>(random_() % 300));
    if (OneIn(2)) DeleteSome();
    if (!OneIn(3)) {
      ASSERT_TRUE(store().Settle());
    }
    if (OneIn(4)) Reopen();
    Check();
    by_presence += Blocks(kPresenceVersion);
  }
  ASSERT_TRUE(store().Settle());
  Check();
  EXPECT_GT(by_presence, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OptionalColumnsTest, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace tallyd

#include "storage/catalogue/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

class CatalogueTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    schema_ = MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)});
    schema_.tables[0].row_key = *RowKeyTemplate::Parse("{a}#{ts:ms}", "ts");
    ASSERT_TRUE(Adopt(schema_));
  }

  void ExpectRefused(const Schema& schema, const std::string& before, const std::string& after) {
    for (const char* table : {"H", "L"}) {
      ASSERT_TRUE(Write(table, "r", 1, {{"A", "x", Value::Int(1)}}));
    }
    for (int i = 0; i < 2; ++i) {
      const Status adopted = store().Adopt(schema);
      ASSERT_FALSE(adopted);
      EXPECT_EQ(adopted.error().code(), ErrorCode::kConflict);
      EXPECT_THAT(adopted.error().message(), HasSubstr("\"" + before + "\""));
      EXPECT_THAT(adopted.error().message(), HasSubstr("\"" + after + "\""));
      Open();  // What was stored refuses it as well.
    }
  }

  Schema schema_;
};

TEST_F(CatalogueTest, AnotherStreamIsRefused) {
  Schema changed = schema_;
  changed.streams.emplace_back().name = "t";
  changed.tables[0].stream = "t";
  ExpectRefused(changed, "s", "t");
}

TEST_F(CatalogueTest, AnotherUnitIsRefused) {
  Schema changed = schema_;
  changed.streams[0].unit = TimeUnit::kSeconds;
  ExpectRefused(changed, "ms", "s");
}

TEST_F(CatalogueTest, OtherLabelsAreRefusedWhereAKeyHoldsThem) {
  ASSERT_TRUE(Write("H", "r", 1, {{"A", "x", Value::Int(1)}}));
  schema_.streams[0].labels = {"host"};
  ASSERT_TRUE(Adopt(schema_)) << "no key has {labels}";
  ASSERT_TRUE(Erase("H", RowDelete("", "")));
  schema_.tables[0].row_key = *RowKeyTemplate::Parse("{a}#{labels}#{ts:ms}", "ts");
  schema_.streams[0].labels = {"rack", "host"};
  ASSERT_TRUE(Adopt(schema_)) << "it holds no row";
  ASSERT_TRUE(Write("H", "r", 1, {{"A", "x", Value::Int(1)}}));
  Schema changed = schema_;
  changed.streams[0].labels = {"host", "rack", "host"};
  ASSERT_TRUE(Adopt(changed)) << "the same, in another order";
  changed.streams[0].labels = {"host"};
  ExpectRefused(changed, "[host, rack]", "[host]");
}

TEST_F(CatalogueTest, AnotherPatternIsRefused) {
  Schema changed = schema_;
  changed.tables[0].pattern = Pattern::kNewCell;
  ExpectRefused(changed, "single-timestamp", "new-cell");
}

TEST_F(CatalogueTest, AnotherRowKeyIsRefused) {
  Schema changed = schema_;
  changed.tables[0].row_key = *RowKeyTemplate::Parse("{a}#{ts:day}", "ts");
  ExpectRefused(changed, "{a}#{ts:ms}", "{a}#{ts:day}");
}

TEST_F(CatalogueTest, AnotherKeepIsRefused) {
  Schema changed = schema_;
  changed.tables[1].keep_row = true;
  ExpectRefused(changed, "cell", "row");
}

// What holds no row may change all of it, whether it never had one or none is left.
TEST_F(CatalogueTest, WhatHoldsNoRowMayChange) {
  Schema changed = schema_;
  changed.streams[0].unit = TimeUnit::kSeconds;
  changed.streams.emplace_back().name = "t";
  changed.tables[0].stream = "t";
  changed.tables[0].pattern = Pattern::kNewCell;
  changed.tables[0].row_key = *RowKeyTemplate::Parse("{b}", "ts");
  changed.tables[1].keep_row = true;
  Schema latest = changed;
  latest.tables[0].pattern = Pattern::kLatest;
  for (const Schema& schema : {changed, schema_, latest, changed}) {
    ASSERT_TRUE(Adopt(schema));
    EXPECT_EQ(Find("H")->stream, schema.tables[0].stream);
    EXPECT_EQ(Find("H")->row_key, schema.tables[0].row_key.text());
    EXPECT_EQ(Find("H")->mode == TableMode::kHistory, schema.tables[0].pattern != Pattern::kLatest);
    EXPECT_EQ(Find("L")->mode == TableMode::kLatestRow, schema.tables[1].keep_row);
    for (const char* table : {"H", "L"}) {
      EXPECT_TRUE(Read(table).empty());
      ASSERT_TRUE(Write(table, "r", 1, {{"A", "x", Value::Int(1)}}));
      EXPECT_EQ(Read(table), (Rows{{"r", {{"A:x@1", "1"}}}}));
      if (table == std::string("H")) {
        ASSERT_TRUE(store().Settle());
      }
      ASSERT_TRUE(Erase(table, RowDelete("", "")));
    }
    Reopen();
  }
}

TEST_F(CatalogueTest, ABatchForATableThatWasMadeAnewIsRefused) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "r", 1, {{"A", "x", Value::Int(1)}});
  Schema changed = schema_;
  changed.tables[0].row_key = *RowKeyTemplate::Parse("{b}", "ts");
  ASSERT_TRUE(Adopt(changed));
  EXPECT_EQ(Commit(std::move(batch)).error().code(), ErrorCode::kConflict);
}

TEST_F(CatalogueTest, ARefusedSchemaChangesNothing) {
  ASSERT_TRUE(Write("L", "r", 1, {{"A", "x", Value::Int(1)}}));
  Schema changed = schema_;
  changed.tables.push_back(MakeTable("N"));
  changed.tables[1].keep_row = true;
  EXPECT_FALSE(store().Adopt(changed));
  EXPECT_EQ(Find("N"), nullptr);
}

TEST_F(CatalogueTest, FamiliesKeepTheirNumbersAndSortByName) {
  Schema changed = schema_;
  changed.tables[0].families.clear();
  for (const char* family : {"0", "A", "Z"}) {
    changed.tables[0].families.emplace_back().name = family;
  }
  ASSERT_TRUE(Adopt(changed));
  Reopen();
  const TablePtr table = Find("H");
  EXPECT_EQ(table->FindFamily("A"), FamilyId{0});
  EXPECT_EQ(table->FindFamily("B"), FamilyId{1});
  EXPECT_EQ(table->FindFamily("0"), FamilyId{2});
  EXPECT_THAT(table->family_rank, ::testing::ElementsAre(1, 2, 0, 3));
  EXPECT_TRUE(table->families[0].configured);
  EXPECT_FALSE(table->families[1].configured);
}

TEST_F(CatalogueTest, AFamilyOutOfTheFileIsKeptAndNotShown) {
  ASSERT_TRUE(Write("H", "r", 1, {{"A", "x", Value::Int(1)}, {"B", "x", Value::Int(2)}}));
  Schema changed = schema_;
  changed.tables[0].families.pop_back();
  ASSERT_TRUE(Adopt(changed));
  EXPECT_EQ(Read("H"), (Rows{{"r", {{"A:x@1", "1"}}}}));
  ASSERT_TRUE(Adopt(schema_));
  EXPECT_EQ(Read("H"), (Rows{{"r", {{"A:x@1", "1"}, {"B:x@1", "2"}}}}));
}

TEST_F(CatalogueTest, ATableOutOfTheFileIsOrphanedAndGoesOnlyWhenDropped) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "r", 1, {{"A", "x", Value::Int(1)}}));
    EXPECT_EQ(store().DropTable(table).error().code(), ErrorCode::kConflict);
  }
  const TableId old = Find("H")->id;
  ASSERT_TRUE(Adopt(MakeSchema({})));
  for (const char* table : {"H", "L"}) {
    EXPECT_TRUE(Find(table)->orphaned);
    EXPECT_EQ(Read(table), (Rows{{"r", {{"A:x@1", "1"}}}}));
    ASSERT_TRUE(store().DropTable(table));
    EXPECT_EQ(Find(table), nullptr);
    EXPECT_EQ(store().DropTable(table).error().code(), ErrorCode::kNotFound);
  }
  AwaitPurge();
  Reopen();
  EXPECT_TRUE(store().Tables().empty());
  ASSERT_TRUE(Adopt(schema_));
  EXPECT_TRUE(Read("H").empty());
  EXPECT_TRUE(Read("L").empty());
  EXPECT_GT(Find("H")->id, old) << "numbers are not given twice";
}

// Its columns are forgotten at once, its rows in base when the head that says so is sealed.
TEST_F(CatalogueTest, ATableDroppedAfterItsRowsWereSealedDoesNotHinderTheNextStart) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "r", 1, {{"A", "x", Value::Int(1)}}));
  }
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Adopt(MakeSchema({})));
  for (const char* table : {"H", "L"}) ASSERT_TRUE(store().DropTable(table));
  Reopen();
  EXPECT_TRUE(store().Tables().empty());
  ASSERT_TRUE(store().Settle());
  Reopen();
  ASSERT_TRUE(Adopt(schema_));
  EXPECT_TRUE(Read("L").empty());
}

TEST_F(CatalogueTest, ABatchForADroppedTableIsRefused) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "r", 1, {{"A", "x", Value::Int(1)}});
  ASSERT_TRUE(Adopt(MakeSchema({})));
  ASSERT_TRUE(store().DropTable("H"));
  const Status committed = Commit(std::move(batch));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(Commit(NewBatch())) << "others go on";
}

TEST_F(CatalogueTest, AScanOfADroppedTableFailsInsteadOfBeingEmpty) {
  for (const char* name : {"H", "L"}) {
    ASSERT_TRUE(Write(name, "r", 1, {{"A", "x", Value::Int(1)}}));
  }
  const std::vector<TablePtr> tables = store().Tables();
  const auto before = store().Scan(tables[0], {});
  ASSERT_TRUE(Adopt(MakeSchema({})));
  for (const TablePtr& table : tables) {
    ASSERT_TRUE(store().DropTable(table->name));
    const Result<bool> more = store().Scan(table, {})->Next();
    ASSERT_FALSE(more) << table->name;
    EXPECT_EQ(more.error().code(), ErrorCode::kUnavailable);
    EXPECT_THAT(more.error().message(), HasSubstr("table " + table->name));
    EXPECT_FALSE(store().ScanRuns(table, {})->Next());
  }
  const Result<bool> more = before->Next();
  EXPECT_TRUE(more && *more) << "it is of the moment when it began";
}

TEST_F(CatalogueTest, TablesComeByName) {
  const std::vector<TablePtr> tables = store().Tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0]->name, "H");
  EXPECT_EQ(tables[1]->name, "L");
  EXPECT_EQ(tables[1]->mode, TableMode::kLatestCell);
}

}  // namespace
}  // namespace tallyd

// Tables, families, columns and fields: made known, listed, changed, dropped.
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<TablePtr>& tables) {
  std::vector<std::string> names;
  for (const TablePtr& table : tables) names.push_back(table->name);
  return names;
}

TEST_P(Conformance, TablesAreListedByName) {
  EXPECT_THAT(NamesOf(store().Tables()), ElementsAre("H", "L", "R"));
  EXPECT_EQ(Find("Z"), nullptr);
  const TablePtr table = Find("R");
  EXPECT_EQ(table->name, "R");
  EXPECT_EQ(table->stream, "s");
  EXPECT_EQ(table->pattern, "latest");
  EXPECT_EQ(table->mode, TableMode::kLatestRow);
  EXPECT_FALSE(table->orphaned);
  EXPECT_TRUE(table->families[*table->FindFamily("B")].configured);
}

TEST_P(Conformance, NumbersStayWhenTablesAndFamiliesAreAdded) {
  const TableId before = Find("H")->id;
  const FamilyId family = *Find("H")->FindFamily("B");
  WriteRows("H", {"a"});
  Schema more = Plain();
  more.tables.insert(more.tables.begin(), MakeTable("Added"));
  Family first;
  first.name = "0";
  more.tables[1].families.insert(more.tables[1].families.begin(), first);
  ASSERT_TRUE(Adopt(more));
  Reopen();
  EXPECT_EQ(Find("H")->id, before);
  EXPECT_EQ(Find("H")->FindFamily("B"), family);
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "y", Value::Int(2)}, {"0", "z", Value::Int(3)}}));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"0:z@5", "3"}, {"A:x@5", "1"}, {"A:y@5", "2"}}}}));
  EXPECT_EQ(Read("Added"), Rows());
}

TEST_P(Conformance, AFamilyThatIsNoLongerConfiguredIsKeptAndNotShown) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(2)}}));
  Schema less = Plain();
  less.tables[0].families.pop_back();
  ASSERT_TRUE(Adopt(less));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "1"}}}}));
  Settle();
  ASSERT_TRUE(Adopt(Plain()));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "1"}, {"B:y@5", "2"}}}}));
}

// Where H and L hold a row, the schema as it is, but for this change and one more table, is
// refused: what is stored is not what is configured.
void ExpectConflict(Conformance* test, const std::function<void(Schema*)>& change,
                    const std::string& stored, const std::string& configured) {
  for (const char* table : {"H", "L"}) test->WriteRows(table, {"a"});
  Schema schema = Conformance::Plain();
  schema.tables.push_back(MakeTable("New"));
  change(&schema);
  const Status adopted = test->Adopt(schema);
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code(), ErrorCode::kConflict);
  EXPECT_THAT(adopted.error().message(), HasSubstr("\"" + stored + "\""));
  EXPECT_THAT(adopted.error().message(), HasSubstr("\"" + configured + "\""));
  EXPECT_EQ(test->Find("New"), nullptr) << "whole or not at all";
}

TEST_P(Conformance, AStreamsUnitMayNotChange) {
  ExpectConflict(
      this, [](Schema* s) { s->streams[0].unit = TimeUnit::kSeconds; }, "ms", "s");
}

TEST_P(Conformance, ATablesStreamMayNotChange) {
  ExpectConflict(
      this, [](Schema* s) { s->tables[0].stream = "other"; }, "s", "other");
}

TEST_P(Conformance, ATablesPatternMayNotChange) {
  ExpectConflict(
      this, [](Schema* s) { s->tables[0].pattern = Pattern::kNewCell; }, "single-timestamp",
      "new-cell");
}

TEST_P(Conformance, WhatALatestTableKeepsMayNotChange) {
  ExpectConflict(
      this, [](Schema* s) { s->tables[1].keep_row = true; }, "cell", "row");
}

TEST_P(Conformance, ATablesRowKeyMayNotChange) {
  Result<RowKeyTemplate> other = RowKeyTemplate::Parse("{machine}#{ts:ms}", "ts");
  ASSERT_TRUE(other) << other.error().message();
  ExpectConflict(
      this, [&](Schema* s) { s->tables[0].row_key = *other; }, "", other->text());
}

TEST_P(Conformance, ATableThatNeverHeldARowMayChange) {
  Schema changed = Plain();
  changed.tables[0].pattern = Pattern::kNewCell;
  changed.tables[1].keep_row = true;
  ASSERT_TRUE(Adopt(changed));
  Reopen();
  EXPECT_EQ(Find("H")->pattern, "new-cell");
  EXPECT_EQ(Find("L")->mode, TableMode::kLatestRow);
}

TEST_P(Conformance, AnOrphanedTableShowsEverythingUntilItIsDropped) {
  WriteRows("H", {"a"});
  const TableId before = Find("H")->id;
  Schema without = Plain();
  without.tables.erase(without.tables.begin());
  ASSERT_TRUE(Adopt(without));
  ASSERT_NE(Find("H"), nullptr);
  EXPECT_TRUE(Find("H")->orphaned);
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "1"}}}}));
  ASSERT_TRUE(store().DropTable("H"));
  EXPECT_EQ(Find("H"), nullptr);
  EXPECT_THAT(NamesOf(store().Tables()), ElementsAre("L", "R"));
  Reopen();
  EXPECT_EQ(Find("H"), nullptr);
  ASSERT_TRUE(Adopt(Plain()));
  EXPECT_EQ(Read("H"), Rows()) << "nothing of the one before";
  EXPECT_NE(Find("H")->id, before);
}

TEST_P(Conformance, ALatestTableThatIsDroppedLeavesNothing) {
  WriteRows("L", {"a", "b"});
  Settle();
  Schema without = Plain();
  without.tables.erase(without.tables.begin() + 1);
  ASSERT_TRUE(Adopt(without));
  ASSERT_TRUE(store().DropTable("L"));
  ASSERT_TRUE(Adopt(Plain()));
  EXPECT_EQ(Read("L"), Rows());
  EXPECT_EQ(store().Stats(Find("L"))->rows, 0u);
}

TEST_P(Conformance, AConfiguredTableIsNotDropped) {
  const Status dropped = store().DropTable("H");
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code(), ErrorCode::kConflict);
  const Status unknown = store().DropTable("Z");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
}

TEST_P(Conformance, AColumnSetIsLearnedOnce) {
  const TablePtr table = Find("H");
  const std::vector<ColumnRef> columns = {{1, "y"}, {0, "z"}, {0, "a"}};
  const std::vector<ColumnRef> in_order = {{0, "a"}, {0, "z"}, {1, "y"}};
  const ColumnSet* set = store().InternColumns(*table, columns);
  ASSERT_NE(set, nullptr);
  ASSERT_EQ(set->columns.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(set->columns[i].ref(), in_order[i]);
  EXPECT_EQ(store().InternColumns(*table, in_order), set);
  EXPECT_NE(store().InternColumns(*table, std::span(in_order).first(2)), set);
  EXPECT_NE(store().InternColumns(*Find("L"), in_order), set) << "each table has its own";
}

TEST_P(Conformance, FieldsAreRemembered) {
  auto batch = NewBatch();
  batch->AddField("s", "x", 2);
  batch->AddField("s", "x", 4);
  batch->AddField("s", "a", 16);
  ASSERT_TRUE(Commit(std::move(batch)));
  batch = NewBatch();
  batch->AddField("s", "x", 2);
  ASSERT_TRUE(Commit(std::move(batch)));
  Reopen();
  const std::vector<FieldInfo> fields = store().Fields("s");
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].name, "a");
  EXPECT_EQ(fields[1].name, "x");
  EXPECT_EQ(fields[1].type_bits, 6);
  EXPECT_THAT(store().Fields("other"), IsEmpty());
}

TEST_P(Conformance, TheSpellingNotedLastIsTheGreatest) {
  for (const char* spelling : {"Bid", "BID", "Bid"}) {
    auto batch = NewBatch();
    Put(batch.get(), "H", "row", 1, {{"A", "x", Value::Int(1)}});
    batch->AddField("s", "Bid", 2);
    batch->AddField("s", "BID", 2);
    batch->NoteSpelling("s", spelling);
    ASSERT_TRUE(Commit(std::move(batch)));
    Reopen();
    const std::vector<FieldInfo> fields = store().Fields("s");
    ASSERT_EQ(fields.size(), 2u);
    EXPECT_EQ(fields[0].spelled > fields[1].spelled, std::string(spelling) == fields[0].name);
    EXPECT_EQ(fields[0].type_bits, 2);
  }
}

TEST_P(Conformance, AStoreSaysThatItCanBeWritten) {
  WriteRows("H", {"a"});
  EXPECT_TRUE(store().State().writable);
  Settle();
  EXPECT_EQ(store().State().unsealed_bytes, 0u);
  EXPECT_LE(store().RetentionNow(), clock.Now());
}

}  // namespace
}  // namespace tallyd

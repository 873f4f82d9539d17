// A batch as the committer finds it: keys and values ready, nothing of it viewed any more.
#include "storage/leveldb/commit/leveldb_batch.h"

#include <gtest/gtest.h>

#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

using OpKind = LevelDbBatch::OpKind;

class LevelDbBatchTest : public ::testing::Test {
 protected:
  LevelDbBatchTest() {
    history_ = MakeTable(1, TableMode::kHistory);
    latest_ = MakeTable(2, TableMode::kLatestCell);
  }

  static TableInfo MakeTable(TableId id, TableMode mode) {
    TableInfo table;
    table.id = id;
    table.mode = mode;
    table.families.resize(2);
    table.families[0].name = "B";
    table.families[1].name = "A";
    table.family_rank = {1, 0};
    return table;
  }
  const ColumnSet* Set(const TableInfo& table) {
    const std::vector<ColumnRef> columns = {{0, "x"}, {0, "y"}};
    return sets_.Intern(table, columns);
  }
  void Put(const TableInfo& table, const std::string& row, TimeUs time, const Value& x,
           const Value& y) {
    batch_.Put(table, row, time, *Set(table), std::vector{x, y});
  }
  // What an entry's value holds, as far as it is by name.
  std::vector<std::pair<ColumnRef, Value>> Named(const LevelDbBatch::Op& op) {
    std::vector<std::pair<ColumnRef, Value>> cells;
    ByteReader in(batch_.ValueOf(op));
    EntryHead head;
    EXPECT_TRUE(GetEntryHead(&in, &head));
    EXPECT_EQ(head.tag, EntryTag::kByName);
    for (uint32_t i = 0; i < head.number; ++i) {
      auto& [column, value] = cells.emplace_back();
      EXPECT_TRUE(GetColumn(&in, &column) && DecodeValue(&in, &value));
    }
    return cells;
  }

  TableInfo history_;
  TableInfo latest_;
  ColumnRegistry sets_;
  FieldCatalogue fields_;
  LevelDbBatch batch_{fields_};
};

TEST_F(LevelDbBatchTest, AnEntryOfHistoryHasItsWholeKeyButForTheSequence) {
  {
    const std::string row("r\0w", 3);
    Put(history_, row, 5, Value::Int(1), Value::Int(2));
  }
  const LevelDbBatch::Op op = batch_.ops().at(0);
  EXPECT_EQ(op.kind, OpKind::kEntry);
  PatchSequence(batch_.KeyOf(op), op.key_size, 77);
  EntryKey key;
  std::string row;
  ASSERT_TRUE(ParseEntryKey(batch_.Key(op), &key));
  ASSERT_TRUE(DecodeRowPrefix(key.row_prefix, &row));
  EXPECT_EQ(row, std::string("r\0w", 3));
  EXPECT_EQ(key.time, 5);
  EXPECT_EQ(key.sequence, 77u);
}

TEST_F(LevelDbBatchTest, ALayerOfALatestRowHasTheRowsKey) {
  Put(latest_, "row", 5, Value::Int(1), Value::Int(2));
  const LevelDbBatch::Op op = batch_.ops().at(0);
  EXPECT_EQ(op.kind, OpKind::kLatest);
  EXPECT_EQ(op.time, 5);
  EXPECT_EQ(batch_.Key(op), "row");
}

TEST_F(LevelDbBatchTest, ColumnsByNameAreBroughtIntoReadOrder) {
  const std::vector<ColumnRef> columns = {{0, "b"}, {0, "a"}, {1, "z"}};
  batch_.Put(history_, "r", 1, columns, std::vector{Value::Int(1), Value::Int(2), Value::Int(3)});
  const auto cells = Named(batch_.ops().at(0));
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0], (std::pair{ColumnRef{1, "z"}, Value::Int(3)}));
  EXPECT_EQ(cells[1], (std::pair{ColumnRef{0, "a"}, Value::Int(2)}));
  EXPECT_EQ(cells[2], (std::pair{ColumnRef{0, "b"}, Value::Int(1)}));
}

TEST_F(LevelDbBatchTest, AnEventWithoutAValueChangesNothing) {
  Put(history_, "r", 1, Value(), Value());
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(batch_.bytes(), 0u);
  Put(history_, "r", 1, Value::Int(1), Value());
  EXPECT_FALSE(batch_.empty());
}

TEST_F(LevelDbBatchTest, ASetThatIsNotStoredYetIsToldOfOnce) {
  Put(history_, "a", 1, Value::Int(1), Value::Int(2));
  Put(history_, "b", 1, Value::Int(1), Value::Int(2));
  EXPECT_EQ(batch_.new_sets(), std::vector{Set(history_)});
  ColumnRegistry::SetStored(*Set(latest_), true);
  Put(latest_, "b", 1, Value::Int(1), Value::Int(2));
  EXPECT_EQ(batch_.new_sets().size(), 1u);
}

TEST_F(LevelDbBatchTest, ALatestLayerKnowsTheEntryWithItsValues) {
  Put(history_, "h", 5, Value::Int(1), Value::String("text"));
  Put(latest_, "l", 5, Value::Int(1), Value::String("text"));
  Put(latest_, "other values", 5, Value::Int(2), Value::String("text"));
  Put(latest_, "other time", 6, Value::Int(1), Value::String("text"));
  EXPECT_EQ(batch_.ops()[1].twin, 0);
  EXPECT_EQ(batch_.ops()[2].twin, -1);
  EXPECT_EQ(batch_.ops()[3].twin, -1);
}

TEST_F(LevelDbBatchTest, AnAbsentValueIsNoTwinOfAPresentOne) {
  Put(history_, "h", 5, Value::Int(1), Value());
  Put(latest_, "l", 5, Value::Int(1), Value::Int(0));
  EXPECT_EQ(batch_.ops()[1].twin, -1);
}

TEST_F(LevelDbBatchTest, AnEventWithoutAValueIsNoTwin) {
  Put(history_, "h", 5, Value::Int(1), Value::Int(2));
  Put(history_, "empty", 5, Value(), Value());
  Put(latest_, "empty", 5, Value(), Value());
  EXPECT_EQ(batch_.ops().size(), 1u);
}

// What is copied from the entry before it is what would be encoded.
TEST_F(LevelDbBatchTest, ALayerHasItsOwnValuesWhateverWasPutBeforeIt) {
  std::string text = "one";
  const std::vector<Value> values = {Value(),
                                     Value::Int(0),
                                     Value::Int(INT64_MIN),
                                     Value::Bool(true),
                                     Value::Double(1e300),
                                     Value::Double(0.5),
                                     Value::Decimal(5, 1),
                                     Value::String(text),
                                     Value::Bytes(text)};
  for (const Value& before : values) {
    for (const Value& value : values) {
      for (const bool text_changes : {false, true}) {
        text = "one";
        LevelDbBatch batch(fields_);
        batch.Put(history_, "h", 5, *Set(history_), std::vector{Value::Int(7), before});
        if (text_changes) text = "two";
        batch.Put(latest_, "l", 5, *Set(latest_), std::vector{Value::Int(7), value});
        LevelDbBatch alone(fields_);
        alone.Put(latest_, "l", 5, *Set(latest_), std::vector{Value::Int(7), value});
        EXPECT_EQ(batch.ValueOf(batch.ops()[1]), alone.ValueOf(alone.ops()[0]));
        const bool same = ValuesOfEntry(batch.ValueOf(batch.ops()[0])) ==
                          ValuesOfEntry(alone.ValueOf(alone.ops()[0]));
        EXPECT_EQ(batch.ops()[1].twin, same ? 0 : -1);
      }
    }
  }
}

TEST_F(LevelDbBatchTest, ChangesKeepTheirOrder) {
  Put(history_, "r", 1, Value::Int(1), Value::Int(2));
  DeleteSpec what;
  what.rows = {"a", "b"};
  batch_.Delete(history_, what);
  Put(latest_, "r", 1, Value::Int(1), Value::Int(2));
  ASSERT_EQ(batch_.ops().size(), 3u);
  EXPECT_EQ(batch_.ops()[1].kind, OpKind::kDelete);
  EXPECT_EQ(batch_.deletes()[batch_.ops()[1].index].rows.end, "b");
  EXPECT_EQ(batch_.tables(), (std::vector<TableId>{1, 2}));
}

TEST_F(LevelDbBatchTest, OnlyPutsAndMemosStoreSomething) {
  batch_.Delete(history_, DeleteSpec{});
  batch_.PutRecord("key", "value");
  batch_.DropRecord("old");
  batch_.DropMemo("gone");
  EXPECT_FALSE(batch_.stores_something());
  EXPECT_EQ(batch_.Key(batch_.ops()[1]), "key");
  EXPECT_EQ(batch_.ValueOf(batch_.ops()[1]), "value");
  EXPECT_EQ(batch_.ops()[2].kind, OpKind::kDropRecord);
  Put(latest_, "r", 1, Value::Int(1), Value());
  EXPECT_TRUE(batch_.stores_something());
}

TEST_F(LevelDbBatchTest, FieldsThatAreKnownAreLeftOut) {
  fields_.Add({{"s", {{"known", {2, 0}}}}}, {});
  batch_.AddField("s", "known", 2);
  EXPECT_TRUE(batch_.empty());
  batch_.AddField("s", "known", 4);
  batch_.AddField("s", "new", 2);
  batch_.AddField("s", "new", 8);
  EXPECT_FALSE(batch_.empty());
  EXPECT_EQ(batch_.fields(), (FieldTypes{{"s", {{"known", {4, 0}}, {"new", {10, 0}}}}}));
}

class FoldingBatchTest : public LevelDbBatchTest {
 protected:
  FoldingBatchTest() { history_.families[0].rules.aggregate = Aggregate::kSum; }
};

TEST_F(FoldingBatchTest, AThousandInputsOfOneCellAreOneEntry) {
  for (int64_t n = 1; n <= 1000; ++n) Put(history_, "r", 5, Value::Int(n), Value());
  EXPECT_FALSE(batch_.empty());
  batch_.Finish();
  ASSERT_EQ(batch_.ops().size(), 1u);
  const auto cells = Named(batch_.ops()[0]);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].second, Value::Int(500'500));
}

TEST_F(FoldingBatchTest, AWholeSetStaysOne) {
  for (const int64_t n : {1, 2}) Put(history_, "r", 5, Value::Int(n), Value::Int(10 * n));
  batch_.Finish();
  ASSERT_EQ(batch_.ops().size(), 1u);
  ByteReader in(batch_.ValueOf(batch_.ops()[0]));
  EntryHead head;
  ASSERT_TRUE(GetEntryHead(&in, &head));
  EXPECT_EQ(head.tag, EntryTag::kBySet);
}

TEST_F(FoldingBatchTest, ADeleteComesBetweenWhatWasPutBeforeAndAfterIt) {
  Put(history_, "r", 5, Value::Int(1), Value());
  batch_.Delete(history_, DeleteSpec{});
  Put(history_, "r", 5, Value::Int(2), Value());
  batch_.Finish();
  ASSERT_EQ(batch_.ops().size(), 3u);
  EXPECT_EQ(batch_.ops()[1].kind, OpKind::kDelete);
  EXPECT_EQ(Named(batch_.ops()[2])[0].second, Value::Int(2));
}

TEST_F(FoldingBatchTest, PlainCellsBesideThemAreEntriesOfTheirOwn) {
  const std::vector<ColumnRef> columns = {{0, "x"}, {1, "y"}};
  for (const int64_t n : {1, 2}) {
    batch_.Put(history_, "r", 5, columns, std::vector{Value::Int(n), Value::Int(n)});
  }
  batch_.Finish();
  EXPECT_EQ(batch_.ops().size(), 3u);
}

TEST_F(LevelDbBatchTest, TheTimesOfATablesEntriesAreKnownAndNoneOfALatestTable) {
  Put(history_, "a", 20, Value::Int(1), Value());
  Put(latest_, "a", 20, Value::Int(1), Value());
  Put(history_, "b", 10, Value::Int(2), Value());
  ASSERT_EQ(batch_.tables(), (std::vector<TableId>{1, 2}));
  EXPECT_EQ(batch_.times(), (std::vector<TimeRange>{{10, 21}, {0, 0}}));
}

TEST_F(FoldingBatchTest, TimesAndLayoutAreKnownOnceItIsEncoded) {
  Put(history_, "a", 7, Value::Int(1), Value::Int(2));
  batch_.Finish();
  EXPECT_EQ(batch_.times(), (std::vector<TimeRange>{{7, 8}}));
  EXPECT_EQ(batch_.layouts(), (std::vector<LevelDbBatch::Layout>{{1, Set(history_)->id}}));
}

TEST_F(LevelDbBatchTest, ALayoutIsToldOnceHoweverManyTablesComeInTurn) {
  std::vector<TableInfo> tables;
  for (TableId id = 1; id <= 20; ++id) tables.push_back(MakeTable(id, TableMode::kHistory));
  for (int i = 0; i < 10; ++i) {
    for (const TableInfo& table : tables) Put(table, "a", i, Value::Int(1), Value::Int(2));
  }
  EXPECT_EQ(batch_.layouts().size(), tables.size());
}

TEST_F(LevelDbBatchTest, EachLayoutOfItsEntriesIsTold) {
  for (int i = 0; i < 3; ++i) {
    Put(history_, "a", i, Value::Int(1), Value::Int(2));
    Put(latest_, "a", i, Value::Int(1), Value::Int(2));
  }
  const std::vector<ColumnRef> columns = {{0, "z"}};
  batch_.Put(history_, "b", 9, columns, std::vector{Value::Int(1)});
  const uint32_t set = Set(history_)->id, other = Set(latest_)->id;
  EXPECT_EQ(batch_.layouts(),
            (std::vector<LevelDbBatch::Layout>{{1, set}, {2, other}, {1, ColumnRegistry::kNoSet}}));
}

}  // namespace
}  // namespace tallyd

// A group of batches as one write, by an engine: numbered, merged, and seen when it succeeded only.
#include "storage/leveldb/commit/group_writer.h"

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/leveldb/commit/engine_fixture.h"

namespace tallyd {
namespace {

class GroupWriterTest : public EngineFixture {
 protected:
  // Of the newest head, as it is.
  int Records(KeySpace space) {
    const auto head = engine_->database().view()->heads.back();
    const auto it = Database::NewIterator(&head->db());
    const std::string begin(1, static_cast<char>(space));
    int records = 0;
    for (it->Seek(begin); it->Valid() && it->key().starts_with(begin); it->Next()) ++records;
    return records;
  }
  std::vector<uint64_t> SequencesOf(const std::string& row) {
    const auto head = engine_->database().view()->heads.back();
    const auto it = head->NewIterator();
    const std::string begin = RowPrefix(KeySpace::kRows, TableOf("H").id, row);
    std::vector<uint64_t> sequences;
    for (it->Seek(begin); it->Valid() && it->key().starts_with(begin); it->Next()) {
      EntryKey key;
      EXPECT_TRUE(ParseEntryKey({it->key().data(), it->key().size()}, &key));
      sequences.push_back(key.sequence);
    }
    return sequences;
  }
  Status CommitGroup(const std::vector<LevelDbBatch*>& batches) {
    const std::vector<Batch*> group(batches.begin(), batches.end());
    return engine_->Commit(group, true);
  }
};

TEST_F(GroupWriterTest, EntriesAreNumberedInTheOrderOfTheGroup) {
  const auto one = NewBatch();
  const auto two = NewBatch();
  AddRow(one.get(), "H", "a", Value::Int(1));
  AddRow(two.get(), "H", "b", Value::Int(2));
  AddRow(two.get(), "H", "a", Value::Int(3));
  const uint64_t last = engine_->state().last_sequence;
  ASSERT_TRUE(CommitGroup({one.get(), two.get()}));
  EXPECT_EQ(SequencesOf("a"), (std::vector{last + 3, last + 1}));
  EXPECT_EQ(SequencesOf("b"), std::vector{last + 2});
  EXPECT_EQ(engine_->state().last_sequence, last + 3);
}

TEST_F(GroupWriterTest, TheEntriesOfAGroupAreOneRecord) {
  const auto one = NewBatch();
  const auto two = NewBatch();
  AddRow(one.get(), "H", "a", Value::Int(1));
  AddRow(two.get(), "H", "b", Value::Int(2));
  const int before = Records(KeySpace::kGroups);
  ASSERT_TRUE(CommitGroup({one.get(), two.get()}));
  EXPECT_EQ(Records(KeySpace::kGroups), before + 1);
  EXPECT_EQ(Records(KeySpace::kRows), 0);
}

TEST_F(GroupWriterTest, InAHeadThatGrewTooLargeEntriesHaveKeysOfTheirOwn) {
  const auto head = engine_->database().view()->heads.back();
  while (head->TakesGroup(1)) head->AddBytes(64u << 20);
  const auto batch = NewBatch();
  AddRow(batch.get(), "H", "a", Value::Int(1));
  AddRow(batch.get(), "H", "b", Value::Int(2));
  const int before = Records(KeySpace::kGroups);
  const uint64_t last = engine_->state().last_sequence;
  ASSERT_TRUE(CommitGroup({batch.get()}));
  EXPECT_EQ(Records(KeySpace::kGroups), before);
  EXPECT_EQ(Records(KeySpace::kRows), 2);
  EXPECT_EQ(SequencesOf("b"), std::vector{last + 2});
}

TEST_F(GroupWriterTest, ALatestRowIsWrittenOnceForTheWholeGroup) {
  std::vector<std::unique_ptr<LevelDbBatch>> batches;
  std::vector<LevelDbBatch*> group;
  for (int i = 0; i < 10; ++i) {
    batches.push_back(NewBatch());
    AddRow(batches.back().get(), "L", "row", Value::Int(i));
    group.push_back(batches.back().get());
  }
  const int before = Records(KeySpace::kLatestChanges);
  ASSERT_TRUE(CommitGroup(group));
  EXPECT_EQ(Records(KeySpace::kLatestChanges), before + 1);
  std::vector<Layer> layers;
  const std::string row = engine_->state().latest.Get(TableOf("L").id, "row");
  ASSERT_TRUE(DecodeLatest(row, &layers));
  EXPECT_EQ(layers.size(), 1u) << "of one time the last has the say";
}

TEST_F(GroupWriterTest, AnEmptyGroupWritesNothing) {
  const uint64_t last = engine_->state().last_sequence;
  const int before = Records(KeySpace::kMeta);
  ASSERT_TRUE(CommitGroup({}));
  EXPECT_EQ(engine_->state().last_sequence, last);
  EXPECT_EQ(Records(KeySpace::kMeta), before);
}

TEST_F(GroupWriterTest, ADeleteOfHistoryIsRecordedAndSeen) {
  const auto batch = NewBatch();
  DeleteSpec what;
  what.rows = {"a", "b"};
  batch->Delete(TableOf("H"), what);
  ASSERT_TRUE(CommitBatch(batch.get()));
  const TableId table = TableOf("H").id;
  ASSERT_EQ(engine_->database().view()->DeletesOf(table).size(), 1u);
  EXPECT_EQ(engine_->database().view()->DeletesOf(table)[0]->what.rows.end, "b");
  EXPECT_EQ(Records(KeySpace::kDeletes), 1);
}

TEST_F(GroupWriterTest, ADeleteOfNothingIsNotRecorded) {
  const auto batch = NewBatch();
  DeleteSpec what;
  what.rows = {"b", "a"};
  batch->Delete(TableOf("H"), what);
  what.rows = {};
  what.cells = {5, 5};
  batch->Delete(TableOf("H"), what);
  ASSERT_TRUE(CommitBatch(batch.get()));
  EXPECT_EQ(Records(KeySpace::kDeletes), 0);
}

TEST_F(GroupWriterTest, WhatEntriesBuildOnIsStoredWithTheFirstThatUsesIt) {
  const TableInfo table = TableOf("H");
  const ColumnRef column{0, "fresh"};
  const ColumnSet* set = engine_->state().sets.Intern(table, {&column, 1});
  const std::string key = ColumnSetKey(table.id, set->id);
  EXPECT_FALSE(engine_->database().Get(key));
  const auto batch = NewBatch();
  batch->Put(table, "row", 1, *set, std::vector{Value::Int(1)});
  batch->AddField("s", "fresh", 2);
  ASSERT_TRUE(CommitBatch(batch.get()));
  EXPECT_TRUE(engine_->database().Get(key));
  EXPECT_TRUE(engine_->database().Get(FieldKey("s", "fresh")));
  EXPECT_TRUE(ColumnRegistry::IsStored(*set));
  EXPECT_EQ(engine_->state().fields.Find("s", "fresh").type_bits, 2);
}

TEST_F(GroupWriterTest, OfAFailedGroupNothingIsPublished) {
  const TableInfo table = TableOf("H");
  const ColumnRef column{0, "fresh"};
  const ColumnSet* set = engine_->state().sets.Intern(table, {&column, 1});
  const auto batch = NewBatch();
  batch->Put(table, "row", 1, *set, std::vector{Value::Int(1)});
  batch->AddField("s", "fresh", 2);
  AddRow(batch.get(), "L", "row", Value::Int(1));
  batch->Delete(table, DeleteSpec{});
  const uint64_t last = engine_->state().last_sequence;
  disk_.FailAt(disk_.calls() + 1, Fault::kIo, true);
  EXPECT_FALSE(CommitBatch(batch.get()));
  disk_.Heal();
  EXPECT_FALSE(ColumnRegistry::IsStored(*set));
  EXPECT_EQ(engine_->state().fields.Find("s", "fresh").type_bits, 0);
  EXPECT_EQ(Rows(), Strings{"first"});
  EXPECT_TRUE(engine_->database().view()->DeletesOf(table.id).empty());
  EXPECT_EQ(engine_->state().last_sequence, last);
}

}  // namespace
}  // namespace tallyd

// What is read of a database at its start: all that was there, and no record that cannot be read.
#include "storage/leveldb/commit/engine_state.h"

#include <gtest/gtest.h>

#include <functional>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

// A store that was closed, and its database opened without an engine.
class EngineStateTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    auto batch = NewBatch();
    for (const char* table : {"H", "L"}) {
      Put(batch.get(), table, "sealed", 10, {{"A", "x", Value::Int(1)}});
    }
    batch->AddField("s", "field", 2);
    ASSERT_TRUE(Commit(std::move(batch)));
    ASSERT_TRUE(store().Settle());
    ASSERT_TRUE(Write("L", "new", 20, {{"B", "y", Value::Int(2)}}));
    history_ = Find("H")->id;
    latest_ = Find("L")->id;
    Close();
  }

  Result<LoadedView> Load(EngineState* state) {
    database_ = std::make_unique<Database>(config(), &disk_);
    const Status opened = database_->Open(1u << 20);
    if (!opened) return opened.error();
    return LoadEngineState(database_.get(), state);
  }
  void PutBase(const std::string& key, const std::string& value) {
    Database database(config(), &disk_);
    ASSERT_TRUE(database.Open(1u << 20));
    leveldb::WriteBatch batch;
    batch.Put(key, value);
    ASSERT_TRUE(database.WriteBase(&batch));
  }

  FaultEnv disk_;
  TableId history_ = 0;
  TableId latest_ = 0;
  std::unique_ptr<Database> database_;
};

TEST_F(EngineStateTest, AllThatWasThereIsReadOfBaseAndHeads) {
  EngineState state;
  const Result<LoadedView> loaded = Load(&state);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(state.catalogue.Tables().size(), 2u);
  EXPECT_EQ(state.fields.Find("s", "field").type_bits, 2);
  EXPECT_EQ(state.sets.StoredSets(history_).size(), 1u);
  EXPECT_EQ(state.latest.RowsOf(latest_), 2u) << "one of base, one of a head";
  EXPECT_EQ(loaded->files.at(history_).size(), 1u);
  EXPECT_GT(state.sealed_sequence, 0u);
  EXPECT_GT(state.last_sequence, state.sealed_sequence);
}

TEST_F(EngineStateTest, DeletesComeOldestFirst) {
  PutBase(DeleteKey(latest_, 300), EncodeDelete(DeleteSpec{}, 7));
  PutBase(DeleteKey(history_, 400), EncodeDelete(DeleteSpec{}, 8));
  PutBase(DeleteKey(history_, 200), EncodeDelete(DeleteSpec{}, 9));
  EngineState state;
  const Result<LoadedView> loaded = Load(&state);
  ASSERT_TRUE(loaded) << loaded.error().message();
  std::vector<uint64_t> of_history;
  for (const auto& deleted : loaded->deletes) {
    if (deleted->table == history_) of_history.push_back(deleted->sequence);
  }
  EXPECT_EQ(of_history, (std::vector<uint64_t>{200, 400}));
}

TEST_F(EngineStateTest, SetsOfATableThatIsGoneAreNobodys) {
  PutBase(ColumnSetKey(99, 1), EncodeColumnSet({{0, "x"}}));
  EngineState state;
  ASSERT_TRUE(Load(&state));
  EXPECT_EQ(state.sets.Find(99, 1), nullptr);
}

TEST_F(EngineStateTest, WhatIsReadAgainIsWhatWasReadFirst) {
  EngineState state;
  const Result<LoadedView> first = Load(&state);
  ASSERT_TRUE(first);
  const uint64_t last = state.last_sequence;
  const ColumnSet* set = state.sets.Find(history_, 1);
  const Result<LoadedView> again = ReloadEngineState(database_.get(), &state, nullptr);
  ASSERT_TRUE(again);
  EXPECT_EQ(state.last_sequence, last);
  EXPECT_EQ(state.sets.Find(history_, 1), set) << "readers hold it";
  EXPECT_EQ(state.latest.RowsOf(latest_), 2u);
  EXPECT_EQ(again->files.at(history_).size(), 1u);
}

TEST_F(EngineStateTest, MemoryThatDoesNotFitTheFilesIsReadAnew) {
  EngineState state;
  ASSERT_TRUE(Load(&state));
  state.latest.Replace({});
  ++state.last_sequence;
  ASSERT_TRUE(ReloadEngineState(database_.get(), &state, nullptr));
  EXPECT_EQ(state.latest.RowsOf(latest_), 2u);
}

struct BadRecord {
  const char* name;
  std::function<std::string(TableId history, TableId latest)> key;
  std::string value;
};

class BadRecordTest : public EngineStateTest, public ::testing::WithParamInterface<BadRecord> {};

// A record that cannot be read is named, and nothing is made of the others.
TEST_P(BadRecordTest, IsRefused) {
  const std::string key = GetParam().key(history_, latest_);
  PutBase(key, GetParam().value);
  EngineState state;
  const Result<LoadedView> loaded = Load(&state);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::kCorruption);
  EXPECT_FALSE(loaded.error().message().empty());
}

std::string Number(uint64_t number) {
  std::string bytes;
  PutU64(&bytes, number);
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(
    Records, BadRecordTest,
    ::testing::Values(
        BadRecord{"MetaWithoutAKind", [](TableId, TableId) { return std::string(1, '\0'); }, "x"},
        BadRecord{"LastSequence", [](TableId, TableId) { return MetaKey(MetaKind::kLastSequence); },
                  "x"},
        BadRecord{"NextTable", [](TableId, TableId) { return MetaKey(MetaKind::kNextTable); }, "x"},
        BadRecord{"RetentionClock",
                  [](TableId, TableId) { return MetaKey(MetaKind::kRetentionClock); },
                  Number(static_cast<uint64_t>(kMaxTimeUs) + 1)},
        BadRecord{"Stream", [](TableId, TableId) { return StreamKey("s"); }, "x"},
        BadRecord{"Table", [](TableId, TableId) { return TableKey(9); }, "x"},
        BadRecord{"ColumnSet", [](TableId h, TableId) { return ColumnSetKey(h, 9); }, "x"},
        BadRecord{"ColumnSetOfAnUnknownFamily",
                  [](TableId h, TableId) { return ColumnSetKey(h, 9); },
                  EncodeColumnSet({{77, "x"}})},
        BadRecord{"Field", [](TableId, TableId) { return FieldKey("s", "f"); }, "x"},
        BadRecord{"FieldWithoutAStream",
                  [](TableId, TableId) { return MetaKey(MetaKind::kField) + "s"; },
                  EncodeField({2, 0})},
        BadRecord{"Delete", [](TableId h, TableId) { return DeleteKey(h, 9); }, "x"},
        BadRecord{"DeleteWithoutASequence",
                  [](TableId h, TableId) { return TablePrefix(KeySpace::kDeletes, h); },
                  EncodeDelete(DeleteSpec{}, 1)},
        BadRecord{"BlockFile", [](TableId h, TableId) { return BlockFileKey(h, 99); }, "x"},
        BadRecord{"LatestRow",
                  [](TableId, TableId l) { return RowPrefix(KeySpace::kLatest, l, "r"); }, "x"},
        BadRecord{"LatestKey",
                  [](TableId, TableId l) { return TablePrefix(KeySpace::kLatest, l) + "r"; }, "x"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tallyd

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <filesystem>
#include <random>

#include "storage/leveldb/catalogue/column_registry.h"
#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/preview_batch.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class StoreTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    const Status adopted = Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest),
                                             MakeTable("R", Pattern::kLatest, true)}));
    ASSERT_TRUE(adopted) << adopted.error().message();
  }
};

TEST_F(StoreTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"B", "y", Value::String("two")}}));
  ASSERT_TRUE(Write("H", "b", 6, {{"A", "x", Value::Double(0.5)}}, false));
  const Rows expected = {{"a", {{"A:x@5", "1"}, {"B:y@5", "two"}}}, {"b", {{"A:x@6", "0.5"}}}};
  EXPECT_EQ(Read("H"), expected);
  Reopen();
  EXPECT_EQ(Read("H"), expected);
}

TEST_F(StoreTest, TheLaterWriteToACellWins) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(2)}, {"B", "z", Value::Int(2)}}));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "2"}, {"A:y@5", "1"}, {"B:z@5", "2"}}}}));
}

TEST_F(StoreTest, TheLaterEventOfABatchWins) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(1)}});
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(2)}});
  Put(batch.get(), "L", "a", 5, {{"A", "x", Value::Int(1)}});
  Put(batch.get(), "L", "a", 5, {{"A", "x", Value::Int(2)}});
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "2"}}}}));
  EXPECT_EQ(Read("L"), (Rows{{"a", {{"A:x@5", "2"}}}}));
}

TEST_F(StoreTest, LatestKeepsTheNewestCellOfEachColumn) {
  ASSERT_TRUE(Write("L", "m", 10, {{"A", "x", Value::Int(10)}, {"A", "y", Value::Int(10)}}));
  ASSERT_TRUE(Write("L", "m", 5, {{"A", "x", Value::Int(5)}, {"B", "z", Value::Int(5)}}));
  ASSERT_TRUE(Write("L", "m", 20, {{"A", "y", Value::Int(20)}}));
  const Rows expected = {{"m", {{"A:x@10", "10"}, {"A:y@20", "20"}, {"B:z@5", "5"}}}};
  EXPECT_EQ(Read("L"), expected);
  Reopen();
  EXPECT_EQ(Read("L"), expected);
}

// In the head a latest row refers to the history entry that has its values.
TEST_F(StoreTest, LatestValuesAreRecoveredFromTheEntriesThatHaveThem) {
  const std::vector<TestCell> cells = {{"A", "x", Value::Decimal(15, 1)},
                                       {"A", "y", Value::String("up")}};
  for (int i = 0; i < 3; ++i) {
    auto batch = NewBatch();
    const std::string machine = "m" + std::to_string(i);
    Put(batch.get(), "H", machine + "#1", 5, cells);
    Put(batch.get(), "L", machine, 5, cells);
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  ASSERT_TRUE(Erase("H", RowDelete("m1", "m2")));
  ASSERT_TRUE(Erase("L", RowDelete("m2", "m3")));
  const Rows expected = {{"m0", {{"A:x@5", "1.5"}, {"A:y@5", "up"}}},
                         {"m1", {{"A:x@5", "1.5"}, {"A:y@5", "up"}}}};
  EXPECT_EQ(Read("L"), expected);
  Reopen();
  EXPECT_EQ(Read("L"), expected) << "from the head";
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(store().State().unsealed_bytes, 0u);
  Reopen();
  EXPECT_EQ(Read("L"), expected) << "from base";
}

TEST_F(StoreTest, LatestRowsDeletedOneByOneStayDeleted) {
  for (const char* row : {"a", "b", "c"}) {
    ASSERT_TRUE(Write("L", row, 5, {{"A", "x", Value::Int(1)}}));
  }
  ASSERT_TRUE(Erase("L", RowDelete("a", "b")));
  ASSERT_TRUE(Erase("L", RowDelete("b", "c")));
  Reopen();
  EXPECT_EQ(Read("L"), (Rows{{"c", {{"A:x@5", "1"}}}}));
}

TEST_F(StoreTest, SettledLatestRowsAreOnTheDiskOnce) {
  config().write_buffer = 4u << 10;  // Many heads, each of which leaves both rows in base.
  Reopen();
  std::mt19937 random(3);
  std::string text(1000, ' ');
  for (int i = 0; i < 100; ++i) {
    for (char& c : text) c = static_cast<char>('!' + random() % 90);
    ASSERT_TRUE(Write("L", i % 2 == 0 ? "a" : "b", i, {{"A", "x", Value::String(text)}}));
  }
  ASSERT_TRUE(store().Settle());
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(path())) {
    if (file.path().extension() == ".ldb") bytes += file.file_size();
  }
  EXPECT_LT(bytes, 4000u);
  EXPECT_GT(store().Stats(Find("L")).disk_bytes, 1000u);
  Reopen();
  EXPECT_EQ(Read("L").back(), (std::pair<std::string, Cells>{"b", {{"A:x@99", text}}}));
}

TEST_F(StoreTest, WhatHasExpiredLeavesTheDisk) {
  Table aged = MakeTable("G");
  aged.families[0].max_age_us = 1000;
  aged.families[1].max_age_us = 2000;
  ASSERT_TRUE(Adopt(MakeSchema({aged})));
  clock.now = 10'000;
  ASSERT_TRUE(Write("G", "row", 9500, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(2)}}));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("block_files"), 1u);
  clock.Pass(1000);
  EXPECT_EQ(Read("G"), (Rows{{"row", {{"B:y@9500", "2"}}}}));
  clock.Pass(1000);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("block_files"), 0u);
}

class ClockJumpTest : public StoreTest {
 protected:
  static constexpr int kRows = 1000;

  void SetUp() override {
    StoreTest::SetUp();
    Table aged = MakeTable("G");
    for (Family& family : aged.families) family.max_age_us = 30 * kUsPerDay;
    ASSERT_TRUE(Adopt(MakeSchema({aged})));
    auto batch = NewBatch();
    for (int i = 0; i < kRows; ++i) {
      Put(batch.get(), "G", std::to_string(10'000 + i), clock.now, {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
    ASSERT_TRUE(store().Settle());
    ASSERT_EQ(Told("block_files"), 1u);
  }

  size_t VisibleRows() { return Read("G").size(); }
};

TEST_F(ClockJumpTest, AMomentFortyDaysAheadRemovesNothing) {
  clock.now += 40 * kUsPerDay;
  clock.Pass(kUsPerSecond / 2);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(VisibleRows(), 0u) << "reads hide by the wall clock";
  EXPECT_FALSE(store().State().retention.believes_wall);
  clock.now -= 40 * kUsPerDay;
  EXPECT_EQ(VisibleRows(), size_t{kRows});
  EXPECT_TRUE(store().State().retention.believes_wall);
}

TEST_F(ClockJumpTest, WhatIsSealedInThatMomentStays) {
  clock.now += 40 * kUsPerDay;
  ASSERT_TRUE(Write("G", "late", clock.now - 40 * kUsPerDay, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(store().Settle());
  clock.now -= 40 * kUsPerDay;
  EXPECT_EQ(VisibleRows(), size_t{kRows + 1});
}

TEST_F(ClockJumpTest, AStartFortyDaysAheadRemovesNothing) {
  clock.now += 40 * kUsPerDay;
  Reopen();
  ASSERT_TRUE(store().Settle());
  Reopen();
  ASSERT_TRUE(store().Settle());
  clock.now -= 40 * kUsPerDay;
  EXPECT_EQ(VisibleRows(), size_t{kRows});
}

TEST_F(ClockJumpTest, AJumpThatHoldsForAnHourIsBelieved) {
  clock.now += 40 * kUsPerDay;
  ASSERT_TRUE(store().Settle());
  clock.Pass(3601 * kUsPerSecond);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("block_files"), 0u);
}

TEST_F(ClockJumpTest, AnOperatorMayTrustTheClockForGood) {
  clock.now += 40 * kUsPerDay;
  ASSERT_TRUE(store().TrustClock());
  Reopen();
  EXPECT_TRUE(store().State().retention.believes_wall);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("block_files"), 0u);
}

TEST_F(ClockJumpTest, TheRetentionClockIsKeptInTheStore) {
  clock.Pass(10 * kUsPerDay);
  const TimeUs reached = store().State().retention.time;
  EXPECT_EQ(reached, clock.now);
  clock.now -= 20 * kUsPerDay;
  Reopen();
  EXPECT_EQ(store().State().retention.time, reached) << "it never goes back";
  EXPECT_EQ(store().RetentionNow(), clock.now) << "but what it answers is not ahead of the wall";
}

// A crash may come between the commit that drops a file and its removal.
TEST_F(StoreTest, DroppedFilesThatWereLeftGoAtTheNextStart) {
  FaultEnv env;
  StoreHarness crashed(&env);
  crashed.Open();
  ASSERT_TRUE(crashed.Adopt(MakeSchema({MakeTable("H")})));
  env.KeepFiles(".blocks");
  const auto write = [&](const std::string& row) {
    ASSERT_TRUE(crashed.Write("H", row, 1, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(crashed.store().Settle());
  };
  const auto files = [&] {
    const std::filesystem::directory_iterator all(crashed.config().path + "/blocks");
    return std::distance(begin(all), end(all));
  };
  for (const char* row : {"a", "b", "c"}) write(row);
  EXPECT_EQ(crashed.Told("block_files"), 1u);
  EXPECT_GT(files(), 1);
  crashed.Close();
  env.KeepFiles("");
  crashed.Reopen();
  EXPECT_EQ(files(), 1);
  EXPECT_FALSE(std::filesystem::exists(crashed.config().path + "/lost"));
  EXPECT_EQ(crashed.Read("H").size(), 3u);
  crashed.Close();
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), crashed.config().path, &opened).ok());
  const std::unique_ptr<leveldb::DB> base(opened);
  const std::unique_ptr<leveldb::Iterator> it(base->NewIterator(leveldb::ReadOptions()));
  it->Seek("\x12");
  EXPECT_FALSE(it->Valid() && it->key()[0] == 0x12) << "the notes went, too";
}

TEST_F(StoreTest, ABlockFileThatNoRecordNamesIsSetAsideAndTold) {
  ASSERT_TRUE(Write("H", "a", 1, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(store().Settle());
  Close();
  const std::string blocks = config().path + "/blocks/";
  std::filesystem::copy(blocks + "000001.blocks", blocks + "000042.blocks");
  Reopen();
  EXPECT_FALSE(std::filesystem::exists(blocks + "000042.blocks"));
  EXPECT_TRUE(std::filesystem::exists(config().path + "/lost/000042.blocks"));
  EXPECT_EQ(Gauge("tallyd_store_lost_files"), 1);
  EXPECT_EQ(Read("H").size(), 1u);
}

TEST_F(StoreTest, LatestRowKeepsTheNewestEvent) {
  ASSERT_TRUE(Write("R", "m", 10, {{"A", "x", Value::Int(10)}, {"A", "y", Value::Int(10)}}));
  ASSERT_TRUE(Write("R", "m", 5, {{"B", "z", Value::Int(5)}}));
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"A:x@10", "10"}, {"A:y@10", "10"}}}}));
  ASSERT_TRUE(Write("R", "m", 10, {{"B", "z", Value::Int(11)}}));
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"B:z@10", "11"}}}}));
}

TEST_F(StoreTest, ADeleteForgetsWhatWasAndNothingLater) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(Write(table, "b", 5, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(Erase(table, RowDelete("a", "b")));
    EXPECT_EQ(Read(table), (Rows{{"b", {{"A:x@5", "1"}}}})) << table;
    ASSERT_TRUE(Write(table, "a", 3, {{"A", "x", Value::Int(2)}}));
    AwaitPurge();
    const Rows expected = {{"a", {{"A:x@3", "2"}}}, {"b", {{"A:x@5", "1"}}}};
    EXPECT_EQ(Read(table), expected) << table;
    Reopen();
    EXPECT_EQ(Read(table), expected) << table;
  }
}

TEST_F(StoreTest, ADeleteNarrowsToColumnAndTime) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value::Int(1)}}));
    DeleteSpec what = RowDelete("a", "");
    what.family = *Find(table)->FindFamily("A");
    what.qualifier = "x";
    what.cells = {6, 10};
    ASSERT_TRUE(Erase(table, what));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@5", "1"}, {"A:y@5", "1"}}}})) << table;
    what.cells = {5, 6};
    ASSERT_TRUE(Erase(table, what));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:y@5", "1"}}}})) << table;
    AwaitPurge();
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:y@5", "1"}}}})) << table;
  }
}

TEST_F(StoreTest, OrderInsideABatchCountsForDeletes) {
  for (const char* table : {"H", "L", "R"}) {
    auto batch = NewBatch();
    Put(batch.get(), table, "a", 5, {{"A", "x", Value::Int(1)}});
    Delete(batch.get(), table, RowDelete("a", "b"));
    Put(batch.get(), table, "a", 4, {{"A", "x", Value::Int(2)}});
    ASSERT_TRUE(Commit(std::move(batch)));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@4", "2"}}}})) << table;
  }
}

TEST_F(StoreTest, FieldsAreRemembered) {
  auto batch = NewBatch();
  batch->AddField("s", "x", 2);
  batch->AddField("s", "x", 4);
  batch->AddField("s", "a", 16);
  ASSERT_TRUE(Commit(std::move(batch)));
  Reopen();
  const std::vector<FieldInfo> fields = store().Fields("s");
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].name, "a");
  EXPECT_EQ(fields[1].name, "x");
  EXPECT_EQ(fields[1].type_bits, 6);
}

TEST_F(StoreTest, TheSpellingNotedLastIsTheGreatest) {
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

// Files of other widths overlap in time: whichever of them are merged, and however their sequences
// lie, the correction stays.
TEST_F(StoreTest, ACorrectionStaysWhateverIsMerged) {
  config().seal_window_us = 100;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  const auto write = [&](const std::string& row, TimeUs time, int64_t value) {
    ASSERT_TRUE(Write("H", row, time, {{"A", "x", Value::Int(value)}}));
  };
  write("corrected", 150, 1);
  ASSERT_TRUE(store().Settle());
  config().seal_window_us = 1000;
  Reopen();
  write("corrected", 150, 2);
  ASSERT_TRUE(store().Settle());
  config().seal_window_us = 100;
  Reopen();
  write("unrelated", 160, 3);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H"),
            (Rows{{"corrected", {{"A:x@150", "2"}}}, {"unrelated", {{"A:x@160", "3"}}}}));
}

// A stray time has a window of its own: the others' files are as narrow as ever, and go when
// their time has come.
TEST_F(StoreTest, AStrayTimeDoesNotKeepOthersOnTheDisk) {
  constexpr TimeUs kFarFuture = 4'102'444'800'000'000;
  config().seal_window_us = kUsPerDay;
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_age_us = 10 * kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  auto batch = NewBatch();
  Put(batch.get(), "H", "stray", kFarFuture, {{"A", "x", Value::Int(1)}});
  Put(batch.get(), "H", "now", clock.Now(), {{"A", "x", Value::Int(2)}});
  ASSERT_TRUE(Commit(std::move(batch)));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("block_files"), 2u);
  clock.Pass(12 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("block_files"), 1u);
}

TEST_F(StoreTest, ReadsBackwards) {
  for (int i = 0; i < 5; ++i) {
    for (int t = 0; t <= i % 3; ++t) {
      ASSERT_TRUE(Write("H", "r" + std::to_string(i), t, {{"A", "x", Value::Int(i)}}));
    }
  }
  ScanSpec spec;
  Rows forwards = Read("H", spec);
  spec.reverse = true;
  Rows backwards = Read("H", spec);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
}

TEST_F(StoreTest, ASecondStoreOnTheSamePathIsRefused) {
  prometheus::Registry other;
  LevelDbStoreOptions options;
  options.storage = config();
  options.clock = &clock;
  options.registry = &other;
  const auto second = OpenLevelDbStore(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kConflict) << second.error().message();
}

TEST_F(StoreTest, AnotherFormatVersionIsRefused) {
  Close();
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), config().path, &opened).ok());
  ASSERT_TRUE(opened->Put({}, MetaKey(MetaKind::kFormat), EncodeFormat(1)).ok());
  delete opened;
  const Status refused = TryOpen();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("format version 1"));
}

TEST_F(StoreTest, ADatabaseOfAnotherProgramIsRefused) {
  Close();
  std::filesystem::remove_all(config().path);
  leveldb::DB* opened = nullptr;
  leveldb::Options options;
  options.create_if_missing = true;
  ASSERT_TRUE(leveldb::DB::Open(options, config().path, &opened).ok());
  ASSERT_TRUE(opened->Put({}, "key", "value").ok());
  delete opened;
  EXPECT_FALSE(TryOpen());
}

TEST_F(StoreTest, AMalformedEntryEndsTheScanWithItsRow) {
  ASSERT_TRUE(Write("H", "bad", 5, {{"A", "x", Value::Int(1)}}));
  const TableId table = Find("H")->id;
  Close();
  leveldb::DB* opened = nullptr;
  const std::string head = config().path + "/heads/000001";
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), head, &opened).ok());
  std::string key(MaxEntryKeyBytes(3), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table, "bad", 4) - key.data()));
  ASSERT_TRUE(opened->Put({}, key, "\x09").ok());
  delete opened;
  Reopen();
  for (const bool reverse : {false, true}) {
    ScanSpec spec;
    spec.reverse = reverse;
    const Result<Rows> rows = TryRead("H", spec);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(rows.error().message(), ::testing::HasSubstr("bad"));
  }
}

TEST_F(StoreTest, RowsAreCountedExactlyWhereTheyAreFew) {
  for (int i = 0; i < 30; ++i) {
    for (int t = 0; t < 3; ++t) {
      ASSERT_TRUE(Write("H", std::to_string(100 + i), t, {{"A", "x", Value::Int(i)}}));
      ASSERT_TRUE(Write("L", std::to_string(100 + i), t, {{"A", "x", Value::Int(i)}}));
    }
  }
  const std::vector<KeyRange> ranges = {{"105", "110"}, {"120", ""}};
  for (const char* table : {"H", "L"}) {
    EXPECT_EQ(*store().EstimateRows(Find(table), ranges, 1000), 15u) << table;
    EXPECT_EQ(store().Stats(Find(table)).rows, 30u) << table;
    EXPECT_TRUE(store().Stats(Find(table)).rows_exact) << table;
  }
}

TEST_F(StoreTest, ManyRowsAreEstimated) {
  constexpr int kRows = 20'000;
  std::mt19937_64 random(1);
  for (int first = 0; first < kRows; first += 1000) {
    auto batch = NewBatch();
    for (int i = first; i < first + 1000; ++i) {
      Put(batch.get(), "H", std::to_string(100'000 + i), 1,
          {{"A", "x", Value::Int(static_cast<int64_t>(random() >> 2))}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  const std::vector<KeyRange> all = {{}};
  const auto estimate = static_cast<double>(*store().EstimateRows(Find("H"), all, 2000));
  EXPECT_GT(estimate, kRows * 0.5);
  EXPECT_LT(estimate, kRows * 2.0);
}

TEST_F(StoreTest, ARangeIsCutWhereItsTimeHasBlocks) {
  constexpr int kRows = 40'000;
  for (int i = 0; i < kRows;) {
    auto batch = NewBatch();
    for (const int end = i + 4000; i < end; ++i) {
      Put(batch.get(), "H", fmt::format("{:06}", i), 1000 + i, {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  ASSERT_TRUE(store().Settle());
  const TablePtr table = Find("H");
  const KeyRange range{"000100", "039000"};
  const std::vector<KeyRange> pieces = store().Split(table, range, TimeRange{}, 4);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces.front().start, range.start);
  EXPECT_EQ(pieces.back().end, range.end);
  for (size_t i = 1; i < pieces.size(); ++i) EXPECT_EQ(pieces[i].start, pieces[i - 1].end);
  for (const KeyRange& piece : pieces) {
    ScanSpec spec;
    spec.ranges = {piece};
    const size_t rows = Read("H", spec).size();
    EXPECT_GT(rows, kRows / 8u);
    EXPECT_LT(rows, kRows / 2u);
  }
  // Rows and times ascend together: all that is asked for is in the second half.
  const std::vector<KeyRange> late =
      store().Split(table, KeyRange{}, TimeRange{1000 + kRows / 2, kMaxTimeUs}, 2);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_GT(late[0].end, "025000");
  EXPECT_EQ(store().Split(table, KeyRange{}, TimeRange{0, 500}, 4).size(), 1u);
}

TEST_F(StoreTest, ColumnsThatDoNotRecurAreNotInterned) {
  const TablePtr table = Find("H");
  const ColumnSet* first = nullptr;
  for (size_t i = 0; i < ColumnRegistry::kMaxSets; ++i) {
    const std::string name = std::to_string(i);
    const ColumnRef column{0, name};
    const ColumnSet* set = store().InternColumns(*table, {&column, 1});
    ASSERT_NE(set, nullptr);
    if (i == 0) first = set;
  }
  const ColumnRef new_column{0, "new"}, old_column{0, "0"};
  EXPECT_EQ(store().InternColumns(*table, {&new_column, 1}), nullptr);
  EXPECT_EQ(store().InternColumns(*table, {&old_column, 1}), first);
}

TEST_F(StoreTest, WhatIsLearnedIsBoundedInBytes) {
  const TablePtr table = Find("H");
  const std::string long_name(kMaxQualifierBytes - 10, 'q');
  size_t sets = 0;
  for (;; ++sets) {
    const std::string name = long_name + std::to_string(sets);
    const ColumnRef column{0, name};
    if (store().InternColumns(*table, {&column, 1}) == nullptr) break;
  }
  EXPECT_LE(sets * long_name.size(), ColumnRegistry::kMaxBytes);
  for (int i = 0; i < 2; ++i) {
    auto batch = NewBatch();
    for (int field = 0; field < 1100; ++field) {
      batch->AddField("s", long_name + std::to_string(i) + std::to_string(field), 2);
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  EXPECT_EQ(store().Fields("s").size(), 1100u);
}

TEST_F(StoreTest, AColumnSetSurvivesWithItsEntries) {
  ASSERT_TRUE(Write("H", "a", 1, {{"B", "y", Value::Int(1)}, {"A", "x", Value::Int(2)}}));
  Reopen();
  const TablePtr table = Find("H");
  const std::vector<ColumnRef> columns = {{0, "x"}, {1, "y"}};
  const ColumnSet* set = store().InternColumns(*table, columns);
  const auto scan = store().Scan(table, ScanSpec{});
  ASSERT_TRUE(*scan->Next());
  EXPECT_EQ(scan->row().parts[0].set, set);
}

TEST_F(StoreTest, AfterCloseNothingIsTaken) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 1, {{"A", "x", Value::Int(1)}});
  store().Close();
  store().Close();
  const Status committed = Commit(std::move(batch));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), ErrorCode::kUnavailable);
}

TEST_F(StoreTest, AForeignBatchIsRefused) {
  EXPECT_FALSE(Commit(std::make_unique<PreviewBatch>()));
}

TEST_F(StoreTest, LargeValuesAndKeysFit) {
  const std::string large(20u << 20, 'v');
  const std::string key(kMaxRowKeyBytes, '\0');
  ASSERT_TRUE(Write("H", key, 1, {{"A", std::string(kMaxQualifierBytes, 'q'), Value::Bytes(large)}},
                    false));
  const Rows rows = Read("H");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].first, key);
  EXPECT_EQ(rows[0].second.begin()->second.size(), large.size());
}

}  // namespace
}  // namespace tallyd

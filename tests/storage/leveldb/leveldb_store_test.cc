#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <filesystem>
#include <random>

#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/view.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/old_block_files.h"
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

  // Of a store that is closed.
  static std::unique_ptr<leveldb::DB> OpenDatabase(const std::string& path) {
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(leveldb::Options(), path, &opened).ok());
    return std::unique_ptr<leveldb::DB>(opened);
  }
  std::unique_ptr<leveldb::DB> OpenBase() { return OpenDatabase(config().path); }
  void SetFormat(uint32_t version) {
    ASSERT_TRUE(OpenBase()->Put({}, MetaKey(MetaKind::kFormat), EncodeFormat(version)).ok());
  }
  uint32_t Format() {
    std::string format;
    EXPECT_TRUE(OpenBase()->Get({}, MetaKey(MetaKind::kFormat), &format).ok());
    return DecodeFormat(format).value();
  }
};

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
  EXPECT_GT(store().Stats(Find("L"))->disk_bytes, 1000u);
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
};

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

TEST_F(StoreTest, ASecondStoreOnTheSamePathIsRefused) {
  prometheus::Registry other;
  LevelDbStoreOptions options;
  options.storage = config();
  options.clock = &clock;
  options.registry = &other;
  const auto second = OpenLevelDbStore(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kConflict) << second.error().message();
  EXPECT_THAT(second.error().message(), ::testing::HasSubstr("in use by another process"));
}

TEST_F(StoreTest, AnotherFormatVersionIsRefused) {
  Close();
  SetFormat(1);
  const Status refused = TryOpen();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kConflict);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("format version 1"));
  EXPECT_THAT(refused.error().message(), ::testing::Not(::testing::HasSubstr("another process")));
  EXPECT_THAT(refused.error().message(), ::testing::StartsWith(config().path + ": "));
}

// Which had each entry of a head under its own key, as a head that grew too large has them.
TEST_F(StoreTest, AStoreOfVersion6IsReadAndCalledTheNewest) {
  ASSERT_TRUE(Write("H", "row", 5, {{"A", "x", Value::Int(1)}}));
  Close();
  {
    const auto db = OpenDatabase(HeadPath(HeadsDirectory(config().path), 1));
    const std::unique_ptr<leveldb::Iterator> it(db->NewIterator({}));
    const std::string begin(1, static_cast<char>(KeySpace::kGroups));
    it->Seek(begin);
    ASSERT_TRUE(it->Valid() && it->key().starts_with(begin));
    const EntryRunPtr run = EntryRun::Decode(it->value().ToString()).value();
    for (const EntryRun::Entry& entry : run->entries()) {
      ASSERT_TRUE(db->Put({}, ToSlice(entry.key()), ToSlice(entry.value())).ok());
    }
    ASSERT_TRUE(db->Delete({}, it->key()).ok());
  }
  SetFormat(6);
  ASSERT_TRUE(TryOpen());
  EXPECT_EQ(Read("H"), (Rows{{"row", {{"A:x@5", "1"}}}}));
  Close();
  EXPECT_EQ(Format(), kFormatVersion);
}

// Which had no blocks by presence.
TEST_F(StoreTest, AStoreOfVersion7IsReadAndCalledTheNewest) {
  ASSERT_TRUE(Write("H", "row", 5, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(store().Settle());
  Close();
  SetFormat(7);
  ASSERT_TRUE(TryOpen());
  EXPECT_EQ(Read("H"), (Rows{{"row", {{"A:x@5", "1"}}}}));
  Close();
  EXPECT_EQ(Format(), kFormatVersion);
}

// Which had no ids in heads, and files that did not say where they come from.
TEST_F(StoreTest, AStoreOfVersion8IsReadAndCalledTheNewest) {
  ASSERT_TRUE(Write("H", "sealed", 5, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Write("H", "unsealed", 5, {{"A", "x", Value::Int(1)}}));
  Close();
  {
    const auto db = OpenDatabase(HeadPath(HeadsDirectory(config().path), 2));
    ASSERT_TRUE(db->Delete({}, MetaKey(MetaKind::kStoreId)).ok());
  }
  RewriteFilesAsFormat8(config().path);
  SetFormat(8);
  ASSERT_TRUE(TryOpen());
  EXPECT_EQ(Read("H").size(), 2u);
  ASSERT_TRUE(Write("H", "more", 5, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(store().Settle());
  Reopen();
  EXPECT_EQ(Read("H").size(), 3u);
  Close();
  EXPECT_EQ(Format(), kFormatVersion);
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
  const Status refused = TryOpen();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("not made by tallyd"));
  EXPECT_THAT(refused.error().message(), ::testing::Not(::testing::HasSubstr("another process")));
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
  const std::vector<KeyRange> pieces = *store().Split(table, range, TimeRange{}, {4, 8192});
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
      *store().Split(table, KeyRange{}, TimeRange{1000 + kRows / 2, kMaxTimeUs}, {2, 8192});
  ASSERT_EQ(late.size(), 2u);
  EXPECT_GT(late[0].end, "025000");
  EXPECT_EQ(store().Split(table, KeyRange{}, TimeRange{0, 500}, {4, 1})->size(), 1u);
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

}  // namespace
}  // namespace tallyd

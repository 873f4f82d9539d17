#include "storage/leveldb/commit/stored_latest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr TableId kSmall = 2;
constexpr TableId kLarge = 4;
constexpr TableId kDropped = 5;
constexpr uint64_t kPieceBytes = 64u << 10;

using Rows = std::map<std::pair<TableId, std::string>, std::string>;

class StoredLatestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 256u << 10;
    options.compression = leveldb::kNoCompression;
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, directory_.path() + "/base", &opened).ok());
    db_.reset(opened);
    for (const TableId table : {kSmall, kLarge}) {
      TableInfo& info = tables_[table];
      info.id = table;
      info.mode = TableMode::kLatestCell;
      info.families = {{"F", true, {}}};
      info.family_rank = {0};
    }
    tables_[kLarge + 10] = tables_[kLarge];  // A history table's prefix has no latest rows.
    tables_[kLarge + 10].mode = TableMode::kHistory;
  }

  void PutRaw(TableId table, const std::string& key, const std::string& row) {
    const leveldb::WriteOptions options;
    ASSERT_TRUE(db_->Put(options, RowPrefix(KeySpace::kLatest, table, key), row).ok());
  }
  void PutRow(TableId table, const std::string& key) {
    const std::string text(random_() % 200, 'x');
    const ColumnRef column{0, "a"};
    const Value values[] = {Value::String(text)};
    ByteBuffer entry;
    AppendEntry({&column, 1}, values, &entry);
    const Layer layer{static_cast<TimeUs>(random_() % 1000), 1, entry.View(0, entry.size())};
    std::string row;
    EncodeLatest({&layer, 1}, &row);
    PutRaw(table, key, row);
    if (table != kDropped) wanted_[{table, key}] = row;
  }
  void PutMany() {
    for (int i = 0; i < 20'000; ++i)
      PutRow(kLarge, fmt::format("machine-{:06}", random_() % 50'000));
    for (int i = 0; i < 10; ++i) PutRow(kSmall, fmt::format("machine-{}", i));
    for (int i = 0; i < 500; ++i) PutRow(kDropped, fmt::format("machine-{}", i));
    db_->CompactRange(nullptr, nullptr);
  }
  KeyRange RangeOf(TableId table) const {
    return {TablePrefix(KeySpace::kLatest, table), TableEnd(KeySpace::kLatest, table)};
  }
  Rows Take(LatestLoader* loader) const {
    Rows rows;
    LatestTables::Rows taken = loader->Take();
    for (const auto& [table, of_table] : taken) {
      std::string last;
      for (auto at = of_table.begin(); at != of_table.end(); at = of_table.Next(at)) {
        const StoredRow& row = of_table.At(at);
        EXPECT_LT(last, row.key());
        EXPECT_EQ(of_table.Find(row.key()), &row);
        last = row.key();
        rows[{table, last}] = row.value();
      }
      EXPECT_EQ(of_table.size(), static_cast<uint64_t>(std::ranges::count_if(
                                     rows, [&](const auto& r) { return r.first.first == table; })));
    }
    return rows;
  }

  TempDir directory_;
  std::unique_ptr<leveldb::DB> db_;
  std::map<TableId, TableInfo> tables_;
  ColumnRegistry sets_;
  LatestLoader loader_{sets_, tables_};
  std::minstd_rand random_{7};
  Rows wanted_;
};

TEST_F(StoredLatestTest, PiecesFollowEachOtherAndAreOfAboutOneSize) {
  PutMany();
  const KeyRange all = RangeOf(kLarge);
  const std::vector<KeyRange> pieces = CutByBytes(db_.get(), all, kPieceBytes);
  ASSERT_GT(pieces.size(), 10u);
  EXPECT_EQ(pieces.front().start, all.start);
  EXPECT_EQ(pieces.back().end, all.end);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) {
      EXPECT_EQ(pieces[i].start, pieces[i - 1].end);
    }
    const leveldb::Range range(ToSlice(pieces[i].start), ToSlice(pieces[i].end));
    uint64_t bytes = 0;
    db_->GetApproximateSizes(&range, 1, &bytes);
    EXPECT_LE(bytes, 2 * kPieceBytes);
    if (i + 1 < pieces.size()) {
      EXPECT_GE(bytes, kPieceBytes / 2);
    }
  }
}

TEST_F(StoredLatestTest, KeysThatDifferFurtherBehindStayInOnePiece) {
  PutRow(kLarge, "a");
  for (int i = 0; i < 5000; ++i) PutRow(kLarge, fmt::format("sensor-of-plant-{}", i));
  db_->CompactRange(nullptr, nullptr);
  const std::vector<KeyRange> pieces = CutByBytes(db_.get(), RangeOf(kLarge), kPieceBytes);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_GT(pieces[1].start, RowPrefix(KeySpace::kLatest, kLarge, "a"));
  EXPECT_LE(pieces[1].start, RowPrefix(KeySpace::kLatest, kLarge, "sensor-of-plant-0"));
  ASSERT_TRUE(ReadStoredLatest(db_.get(), tables_, &loader_, kPieceBytes));
  EXPECT_EQ(Take(&loader_), wanted_);
}

// The greatest that keys can be told apart by.
TEST_F(StoredLatestTest, KeysOfTheGreatestBytesAreCutNowhere) {
  PutRow(kLarge, "a");
  for (int i = 0; i < 5000; ++i) PutRow(kLarge, std::string(12, '\xff') + std::to_string(i));
  db_->CompactRange(nullptr, nullptr);
  EXPECT_LE(CutByBytes(db_.get(), RangeOf(kLarge), kPieceBytes).size(), 2u);
  ASSERT_TRUE(ReadStoredLatest(db_.get(), tables_, &loader_, kPieceBytes));
  EXPECT_EQ(Take(&loader_), wanted_);
}

TEST_F(StoredLatestTest, ThereAreNeverMoreThan64Pieces) {
  PutMany();
  const size_t pieces = CutByBytes(db_.get(), RangeOf(kLarge), 1).size();
  EXPECT_GT(pieces, 32u);
  EXPECT_LE(pieces, 64u);
}

TEST_F(StoredLatestTest, ManySmallTablesAreReadWithWhatLiesBetweenThem) {
  for (TableId table = 20; table < 120; ++table) {
    tables_[table] = tables_[kSmall];
    tables_[table].id = table;
    tables_[table].mode = table % 3 == 0 ? TableMode::kHistory : TableMode::kLatestRow;
    if (table % 3 != 0) PutRow(table, fmt::format("machine-{}", table));
  }
  PutRow(kDropped, "machine");
  PutMany();
  ASSERT_TRUE(ReadStoredLatest(db_.get(), tables_, &loader_, kPieceBytes));
  EXPECT_EQ(Take(&loader_), wanted_);
}

TEST_F(StoredLatestTest, AllRowsOfTheTablesAreReadWhateverTheirPiece) {
  PutMany();
  ASSERT_TRUE(ReadStoredLatest(db_.get(), tables_, &loader_, kPieceBytes));
  EXPECT_EQ(Take(&loader_), wanted_);
}

// Those that lie in LevelDB's memory have no size yet.
TEST_F(StoredLatestTest, RowsThatAreInNoFileAreRead) {
  for (int i = 0; i < 10; ++i) PutRow(kLarge, fmt::format("machine-{}", i));
  ASSERT_TRUE(ReadStoredLatest(db_.get(), tables_, &loader_, kPieceBytes));
  EXPECT_EQ(Take(&loader_), wanted_);
}

TEST_F(StoredLatestTest, NothingIsThereOfAnEmptyBase) {
  ASSERT_TRUE(ReadStoredLatest(db_.get(), tables_, &loader_));
  EXPECT_TRUE(Take(&loader_).empty());
}

TEST_F(StoredLatestTest, AMalformedRowOfAnyPieceIsNamed) {
  PutMany();
  for (const char digit : {'0', '2', '4'}) {
    const std::string key = fmt::format("machine-0{}9999", digit);
    PutRaw(kLarge, key, "junk");
    LatestLoader loader(sets_, tables_);
    const Status read = ReadStoredLatest(db_.get(), tables_, &loader, kPieceBytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(read.error().message().find(fmt::format("303{}393939390001", digit)),
              std::string::npos)
        << read.error().message();
    PutRow(kLarge, key);
  }
}

}  // namespace
}  // namespace tallyd

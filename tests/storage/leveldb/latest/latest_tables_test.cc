#include "storage/leveldb/latest/latest_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

constexpr TableId kTable = 7;

using Strings = std::vector<std::string>;

class LatestTablesTest : public ::testing::Test {
 protected:
  // Commits one row; an empty value takes it out.
  void Change(const std::string& key, const std::string& value, TableId table = kTable) {
    LatestChanges changes;
    AddChange({table, key}, value, &changes);
    tables_.Publish(&changes, {});
  }

  void AddChange(const LatestKey& key, const std::string& value, LatestChanges* changes) {
    LatestChange& change = changes->emplace_back();
    change.key = key;
    change.stored = tables_.Find(key);
    change.to = value.empty() ? LatestChange::To::kGone : LatestChange::To::kRow;
    if (!value.empty()) change.row = StoredRow::Make(key.key, value);
  }

  Strings Keys(const KeyRange& range, bool reverse, size_t limit) {
    const bool more = tables_.Read(kTable, range, reverse, limit, &copy_);
    Strings keys;
    for (const auto& [key, value] : copy_.rows()) keys.emplace_back(key);
    if (more) keys.push_back("...");
    return keys;
  }

  ColumnRegistry sets_;
  LatestTables tables_{sets_};
  LatestCopy copy_;
};

TEST_F(LatestTablesTest, ReadsInPiecesFromBothEnds) {
  for (const char* key : {"a", "b", "c", "d"}) Change(key, "v");
  EXPECT_EQ(Keys({}, false, 2), (Strings{"a", "b", "..."}));
  EXPECT_EQ(Keys({"b", "d"}, false, 2), (Strings{"b", "c"}));
  EXPECT_EQ(Keys({"", "d"}, true, 2), (Strings{"c", "b", "..."}));
  EXPECT_EQ(Keys({"", "b"}, true, 2), (Strings{"a"}));
  EXPECT_EQ(Keys({"c", "b"}, true, 2), Strings{});
  EXPECT_EQ(Keys({"e", ""}, false, 2), Strings{});
}

TEST_F(LatestTablesTest, LargeRowsAreReadAFewAtATime) {
  for (int i = 0; i < 10; ++i) Change(std::to_string(i), std::string(200u << 10, 'v'));
  EXPECT_EQ(Keys({}, false, 100), (Strings{"0", "1", "..."}));
}

TEST_F(LatestTablesTest, TablesAreApart) {
  Change("a", "one", 1);
  Change("a", "two", 2);
  Change("b", "two", 2);
  EXPECT_EQ(tables_.Get(1, "a"), "one");
  EXPECT_EQ(tables_.Get(2, "a"), "two");
  EXPECT_EQ(tables_.Get(1, "b"), "");
  Change("a", "", 2);
  EXPECT_EQ(tables_.RowsOf(1), 1u);
  EXPECT_EQ(tables_.RowsOf(2), 1u);
  EXPECT_EQ(tables_.RowsOf(3), 0u);
}

TEST_F(LatestTablesTest, AGroupReplacesAddsAndTakesOutAtOnce) {
  for (int i = 0; i < 1000; ++i) Change(fmt::format("{:04}", i), "old");
  LatestChanges changes;
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back(fmt::format("{:04}", i));
  for (size_t i = 0; i < keys.size(); ++i) {
    AddChange({kTable, keys[i]}, i % 3 == 1 ? "new" : "", &changes);
    if (i % 3 == 0) changes.back().to = LatestChange::To::kAsItWas;
  }
  tables_.Publish(&changes, {});
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string before = i < 1000 ? "old" : "";
    ASSERT_EQ(tables_.Get(kTable, keys[i]), i % 3 == 0 ? before : i % 3 == 1 ? "new" : "") << i;
  }
}

// The layer is the row, however the sizes differ.
TEST_F(LatestTablesTest, ALayerIsWrittenOverItsRow) {
  const std::string key = "a";
  uint64_t sequence = 0;
  for (const size_t size : {10, 12, 3, 200, 150, 7, 70'000, 8}) {
    const std::string entry(size, 'e');
    LatestChanges changes;
    LatestChange& change = changes.emplace_back();
    change.key = {kTable, key};
    change.stored = tables_.Find(change.key);
    change.to = LatestChange::To::kLayer;
    change.layer = {5, ++sequence, entry};
    tables_.Publish(&changes, {});
    std::string expected;
    const Layer layer{5, sequence, entry};
    EncodeLatest({&layer, 1}, &expected);
    ASSERT_EQ(tables_.Get(kTable, key), expected) << size;
  }
  EXPECT_EQ(tables_.RowsOf(kTable), 1u);
}

TEST_F(LatestTablesTest, CountsAnyRange) {
  EXPECT_EQ(tables_.Count(kTable, {}), 0u);
  for (int i = 0; i < 5000; ++i) Change(fmt::format("{:04}", i * 7 % 5000), "v");
  EXPECT_EQ(tables_.Count(kTable, {}), 5000u);
  EXPECT_EQ(tables_.Count(kTable, {"0100", "0200"}), 100u);
  EXPECT_EQ(tables_.Count(kTable, {"0100", "4200"}), 4100u);
  EXPECT_EQ(tables_.Count(kTable, {"4990", ""}), 10u);
  EXPECT_EQ(tables_.Count(kTable, {"4", "3"}), 0u);
}

TEST(LatestKeySetTest, ARowIsThereOnce) {
  LatestKeySet set;
  EXPECT_TRUE(set.Add({1, "a"}));
  EXPECT_FALSE(set.Add({1, "a"}));
  EXPECT_TRUE(set.Add({2, "a"}));
  set.Clear();
  EXPECT_TRUE(set.Add({1, "a"}));
}

}  // namespace
}  // namespace tallyd

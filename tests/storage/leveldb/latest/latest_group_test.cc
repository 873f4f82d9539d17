#include "storage/leveldb/latest/latest_group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>

#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 3;
constexpr uint64_t kRowsAtOnce = 2;

// Rows of one column, with integers.
class LatestGroupTest : public ::testing::Test {
 protected:
  void Put(const std::string& key, TimeUs time, int value,
           TableMode mode = TableMode::kLatestCell) {
    const ColumnRef column{0, "a"};
    const Value values[] = {Value::Int(value)};
    ByteBuffer entry;
    AppendEntry({&column, 1}, values, &entry);
    const Layer layer{time, ++sequence_, entry.View(0, entry.size())};
    EXPECT_TRUE(group_.Put({kTable, Kept(key)}, mode, layer, {}));
  }

  // True: it hides until its rows are taken out.
  bool Delete(const KeyRange& rows) {
    DeleteSpec what;
    what.rows = rows;
    return *group_.Delete(std::make_shared<const DeleteRange>(kTable, ++sequence_, what));
  }

  // What base is to be told; "-": nothing.
  std::string Trim(const std::string& key, uint64_t deletes, const std::vector<TimeUs>& oldest,
                   bool in_heads = false) {
    const auto left = group_.Trim({kTable, Kept(key)}, deletes, oldest, in_heads);
    EXPECT_TRUE(left);
    return *left ? std::string(**left) : "-";
  }

  std::string_view Stored(const std::string& key) { return group_.ToStore({kTable, key}); }

  // Rows as a head would have them, "" for those that are gone.
  std::map<std::string, std::string> Commit() {
    std::string record;
    group_.AppendChanges(&record);
    std::map<std::string, std::string> changes;
    ByteReader in(record);
    LatestChangeRecord change;
    while (!in.done() && ReadLatestChange(&in, &change)) {
      changes[std::string(change.key)] = change.row;
    }
    group_.Publish();
    group_.Clear();
    return changes;
  }

  // The times of the row's layers, newest first; what lists hide does not count.
  std::vector<TimeUs> Times(const std::string& key) {
    std::vector<TimeUs> times;
    std::vector<Layer> layers;
    const std::string row = tables_.Get(kTable, key);
    EXPECT_EQ(DecodeLatest(row, &layers), !row.empty());
    for (const Layer& layer : layers) {
      const DeleteListPtr deletes = deletes_.Of(kTable);
      const bool hidden = std::any_of(deletes->begin(), deletes->end(), [&](const auto& deleted) {
        return deleted->CoversRow(key) && deleted->HidesEntry(layer.time, layer.sequence);
      });
      if (!hidden) times.push_back(layer.time);
    }
    return times;
  }

  // Keys outlive the group.
  std::string_view Kept(const std::string& key) { return *keys_.insert(key).first; }

  using TimeList = std::vector<TimeUs>;

  std::set<std::string> keys_;
  ColumnRegistry sets_;
  LatestTables tables_;
  LatestDeletes deletes_;
  LatestGroup group_{sets_, &tables_, &deletes_, kRowsAtOnce};
  uint64_t sequence_ = 0;
};

TEST_F(LatestGroupTest, NothingIsSeenBeforeItIsPublished) {
  Put("a", 5, 1);
  EXPECT_EQ(tables_.RowsOf(kTable), 0u);
  EXPECT_EQ(Commit().size(), 1u);
  EXPECT_EQ(Times("a"), (TimeList{5}));
}

TEST_F(LatestGroupTest, AnEventThatChangesNothingIsNotWritten) {
  Put("a", 5, 1);
  Commit();
  Put("a", 6, 1);
  Put("a", 4, 1);
  const auto changes = Commit();
  EXPECT_EQ(changes.size(), 1u);
  Put("a", 3, 1);
  EXPECT_TRUE(Commit().empty());
}

TEST_F(LatestGroupTest, ADeleteOfFewRowsRewritesThem) {
  for (const char* key : {"a", "b", "c"}) Put(key, 5, 1);
  Commit();
  Put("bb", 5, 1);
  EXPECT_FALSE(Delete({"b", "c"}));
  Put("b", 3, 1);
  const auto changes = Commit();
  EXPECT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes.at("b"), tables_.Get(kTable, "b"));
  EXPECT_EQ(changes.at("bb"), "");
  EXPECT_EQ(Times("a"), (TimeList{5}));
  EXPECT_EQ(Times("b"), (TimeList{3}));
  EXPECT_EQ(Times("bb"), TimeList{});
  EXPECT_EQ(deletes_.size(), 0u);
}

TEST_F(LatestGroupTest, ADeleteOfManyRowsRewritesNone) {
  for (const char* key : {"a", "b", "c"}) Put(key, 5, 1);
  Commit();
  EXPECT_TRUE(Delete({}));
  EXPECT_TRUE(Commit().empty());
  EXPECT_EQ(tables_.RowsOf(kTable), 3u);
  EXPECT_EQ(Times("b"), TimeList{});
}

// By a record each, a reader would have to go by all of them for every row.
TEST_F(LatestGroupTest, DeletesOfFewRowsAreNotRecordedHoweverManyTheyAre) {
  LatestGroup group{sets_, &tables_, &deletes_, 32};
  for (int row = 0; row < 100; ++row) Put(fmt::format("r{:02}", row), 5, 1);
  Commit();
  const auto erase = [&](const std::string& key) {
    DeleteSpec what;
    what.rows = {key, key + '\0'};
    return *group.Delete(std::make_shared<const DeleteRange>(kTable, ++sequence_, what));
  };
  for (int row = 0; row < 90; ++row) EXPECT_FALSE(erase(fmt::format("r{:02}", row)));
  group.Publish();
  EXPECT_EQ(tables_.RowsOf(kTable), 10u);
  EXPECT_FALSE(deletes_.any());
}

TEST_F(LatestGroupTest, ADeleteOfOneRowTakesWhatItsGroupPut) {
  Put("a", 5, 1);
  EXPECT_FALSE(Delete({"a", std::string("a\0", 2)}));
  Put("b", 5, 1);
  Commit();
  EXPECT_EQ(tables_.RowsOf(kTable), 1u);
  EXPECT_EQ(Times("b"), (TimeList{5}));
}

TEST_F(LatestGroupTest, WhatIsStoredIsTheRowWithoutWhatTheGroupTellsTheHead) {
  Put("a", 5, 1);
  Put("b", 5, 1);
  Put("c", 5, 1);
  Commit();
  const std::string a = tables_.Get(kTable, "a");
  Put("a", 6, 2);
  Put("d", 6, 2);
  EXPECT_EQ(Trim("b", 0, {6}), "");
  EXPECT_EQ(Stored("a"), a) << "the next head is not synced yet";
  EXPECT_EQ(Stored("b"), "") << "base was told";
  EXPECT_EQ(Stored("c"), tables_.Get(kTable, "c"));
  EXPECT_EQ(Stored("d"), "");
  EXPECT_EQ(Stored("e"), "") << "it is not there";
}

TEST_F(LatestGroupTest, WhatIsWrittenAfterADeleteIsStoredHoweverOld) {
  for (const TableMode mode : {TableMode::kLatestCell, TableMode::kLatestRow}) {
    for (const char* key : {"a", "b", "c"}) Put(key, 50, 1, mode);
    Commit();
    EXPECT_TRUE(Delete({}));
    Put("a", 7, 2, mode);
    Commit();
    Put("b", 6, 2, mode);
    const auto changes = Commit();
    EXPECT_EQ(Times("a"), (TimeList{7}));
    EXPECT_EQ(Times("b"), (TimeList{6}));
    EXPECT_EQ(Times("c"), TimeList{});
    EXPECT_EQ(changes.at("b"), tables_.Get(kTable, "b"));
    deletes_.Replace({});
    for (const char* key : {"a", "b"}) EXPECT_EQ(Times(key).size(), 1u) << "the old one is gone";
    tables_.Replace({});
  }
}

TEST_F(LatestGroupTest, ASmallDeleteAfterALargeOneKeepsWhatCameBetween) {
  for (const char* key : {"a", "b", "c"}) Put(key, 50, 1);
  Commit();
  EXPECT_TRUE(Delete({}));
  Commit();
  Put("a", 7, 2);
  EXPECT_FALSE(Delete({"b", "c"}));
  Commit();
  deletes_.Replace({});
  EXPECT_EQ(Times("a"), (TimeList{7}));
  EXPECT_EQ(Times("b"), TimeList{});
  EXPECT_EQ(Times("c"), (TimeList{50})) << "only the list hid it";
}

TEST_F(LatestGroupTest, ATrimmedRowIsToldToBaseAndNotToTheHead) {
  for (const char* key : {"a", "b", "c"}) Put(key, 5, 1);
  Commit();
  EXPECT_TRUE(Delete({}));
  const uint64_t last = sequence_;
  Commit();
  EXPECT_EQ(Trim("a", last, {}), "");
  EXPECT_EQ(Trim("b", last - 1, {}), "-") << "not of later deletes";
  EXPECT_EQ(Trim("b", 0, {6}), "");
  EXPECT_EQ(Trim("c", 0, {5}), "-") << "not that old";
  EXPECT_EQ(Trim("d", last, {6}), "-") << "it is not there";
  EXPECT_TRUE(Commit().empty());
  EXPECT_EQ(tables_.RowsOf(kTable), 1u);
}

TEST_F(LatestGroupTest, WhatAgedIsToldToTheHeadWhereOneMayHaveTheRow) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, 5, 1);
  Commit();
  EXPECT_EQ(Trim("a", 0, {6}, true), "-");
  EXPECT_EQ(Trim("b", 0, {5}, true), "-") << "not that old";
  EXPECT_EQ(Commit(), (std::map<std::string, std::string>{{"a", ""}}));
  EXPECT_TRUE(Delete({}));
  const uint64_t last = sequence_;
  Commit();
  EXPECT_EQ(Trim("c", last, {}, true), "") << "of a delete the head has the record";
  EXPECT_TRUE(Commit().empty());
}

TEST_F(LatestGroupTest, WhatIsPutMeanwhileIsNotTrimmed) {
  for (const char* key : {"a", "b", "c"}) Put(key, 5, 1);
  Commit();
  EXPECT_TRUE(Delete({}));
  const uint64_t last = sequence_;
  Commit();
  Put("a", 9, 2);
  EXPECT_EQ(Trim("a", last, {6}), "-") << "the head tells of it";
  EXPECT_EQ(Trim("b", last, {6}), "");
  Put("b", 9, 2);
  EXPECT_EQ(Commit().size(), 2u);
  EXPECT_EQ(Times("a"), (TimeList{9}));
  EXPECT_EQ(Times("b"), (TimeList{9}));
}

TEST_F(LatestGroupTest, TheLeastTimeThatWasPutIsKnown) {
  constexpr TimeUs kNone = std::numeric_limits<TimeUs>::max();
  EXPECT_EQ(tables_.TakeOldest(kTable), kNone);
  Put("a", 9, 1);
  Commit();
  Put("b", 5, 1);
  Put("c", 7, 1);
  Commit();
  EXPECT_EQ(tables_.TakeOldest(kTable), 5);
  EXPECT_EQ(tables_.TakeOldest(kTable), kNone);
}

}  // namespace
}  // namespace tallyd

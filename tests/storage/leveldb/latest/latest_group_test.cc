#include "storage/leveldb/latest/latest_group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
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
    entries_.emplace_back(entry.View(0, entry.size()));
    const Layer layer{time, ++sequence_, entries_.back()};
    EXPECT_TRUE(group_.Put({kTable, Kept(key)}, mode, layer, {}));
  }

  // Both columns of a set, or the first one alone: rows of one set need no decoding.
  void PutSet(const std::string& key, TimeUs time, bool complete = true, uint64_t twin = 0) {
    const Value values[] = {Value::Int(time), complete ? Value::Int(1) : Value()};
    ByteBuffer entry;
    AppendEntry(*set_, values, &entry);
    entries_.emplace_back(entry.View(0, entry.size()));
    const Layer layer{time, ++sequence_, entries_.back()};
    std::optional<LatestTwin> reference;
    if (twin > 0) reference = {time, sequence_, twin, set_->id};
    EXPECT_TRUE(group_.Put({kTable, Kept(key)}, TableMode::kLatestCell, layer, reference));
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
    group_.AppendChanges(head_, &record);
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

  const ColumnSet* MakeSet() {
    EXPECT_TRUE(sets_.Load(kTable, 1, {{0, "a"}, {0, "b"}}));
    return sets_.Find(kTable, 1);
  }

  // One of many columns, with so much text that a few make a row wide.
  void PutField(const std::string& key, TimeUs time, int field) {
    const std::string name = fmt::format("f{:03}", field);
    const ColumnRef column{0, name};
    TableInfo table;
    table.id = kTable;
    table.families = {{"F", true, {}}};
    table.family_rank = {0};
    const std::string text = fmt::format("{:0100}", time);
    const Value values[] = {Value::String(text)};
    ByteBuffer entry;
    AppendEntry(*sets_.Intern(table, {&column, 1}), values, &entry);
    entries_.emplace_back(entry.View(0, entry.size()));
    const Layer layer{time, ++sequence_, entries_.back()};
    EXPECT_TRUE(group_.Put({kTable, Kept(key)}, TableMode::kLatestCell, layer, {}));
  }

  void PutWide(const std::string& key) {
    for (int field = 1; field <= 10; ++field) PutField(key, field, field);
    Commit();
  }

  bool IsAdded(const std::map<std::string, std::string>& changes, const std::string& key) {
    return changes.contains(key) && IsLatestAddition(changes.at(key));
  }

  using TimeList = std::vector<TimeUs>;

  std::set<std::string> keys_;
  std::deque<std::string> entries_;  // So do those of layers.
  ColumnRegistry sets_;
  const ColumnSet* const set_ = MakeSet();
  LatestTables tables_{sets_};
  LatestDeletes deletes_;
  LatestGroup group_{sets_, &tables_, &deletes_, kRowsAtOnce};
  uint64_t sequence_ = 0;
  uint64_t head_ = 1;
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

TEST_F(LatestGroupTest, ALayerOfTheSameSetTakesThePlaceOfAnOlderOne) {
  PutSet("a", 5);
  Commit();
  PutSet("a", 4);
  EXPECT_TRUE(Commit().empty()) << "it is covered";
  PutSet("a", 7);
  PutSet("a", 6);
  PutSet("b", 3);
  const auto changes = Commit();
  EXPECT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes.at("a"), tables_.Get(kTable, "a"));
  EXPECT_EQ(changes.at("b"), tables_.Get(kTable, "b"));
  EXPECT_EQ(Times("a"), (TimeList{7}));
  PutSet("a", 9, false);
  Commit();
  EXPECT_EQ(Times("a"), (TimeList{9, 7})) << "the newer one has not every column";
  PutSet("a", 10);
  Commit();
  EXPECT_EQ(Times("a"), (TimeList{10}));
}

TEST_F(LatestGroupTest, ARowIsAReferenceAsLongAsItIsThatLayerAlone) {
  PutSet("a", 5, true, 77);
  PutSet("b", 5, true, 77);
  PutSet("b", 6, false, 78);
  PutSet("c", 5, true, 77);
  PutSet("c", 6);
  const auto changes = Commit();
  LatestTwin twin;
  ASSERT_TRUE(DecodeLatestTwin(changes.at("a"), &twin));
  EXPECT_EQ(twin.entry, 77u);
  EXPECT_EQ(twin.set, set_->id);
  EXPECT_EQ(twin.time, 5);
  EXPECT_FALSE(IsLatestTwin(changes.at("b")));
  EXPECT_FALSE(IsLatestTwin(changes.at("c")));
  EXPECT_EQ(Times("b"), (TimeList{6, 5}));
}

TEST_F(LatestGroupTest, AGroupThatIsNotPublishedLeavesRowsAsTheyWere) {
  for (const char* key : {"a", "b", "c"}) PutSet(key, 5);
  Commit();
  PutSet("a", 6);
  PutSet("b", 6, false);
  Put("c", 6, 1);
  PutSet("d", 6);
  group_.Clear();
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(Times(key), (TimeList{5}));
  EXPECT_EQ(tables_.RowsOf(kTable), 3u);
  PutSet("b", 7);
  EXPECT_EQ(Commit().size(), 1u);
  EXPECT_EQ(Times("b"), (TimeList{7}));
}

TEST_F(LatestGroupTest, AGroupThatFailedIsPublishedWithoutItsBatches) {
  for (const char* key : {"a", "b"}) PutSet(key, 5);
  Commit();
  PutSet("a", 6);
  PutSet("c", 6);
  EXPECT_FALSE(Delete({"b", "c"}));
  LatestChanges changes;
  LatestTimes oldest;
  group_.MoveTo(&changes, &oldest);
  entries_.clear();
  keys_.clear();
  tables_.Publish(&changes, oldest);
  EXPECT_EQ(Times("a"), (TimeList{6}));
  EXPECT_EQ(Times("b"), TimeList{});
  EXPECT_EQ(Times("c"), (TimeList{6}));
}

TEST_F(LatestGroupTest, WhatIsForeseenNeedNotCome) {
  for (const char* key : {"a", "b", "c"}) PutSet(key, 5);
  Commit();
  const LatestKey keys[] = {
      {kTable, Kept("a")}, {kTable, Kept("new")}, {kTable + 1, Kept("b")}, {kTable, Kept("c")}};
  group_.Foresee(keys);
  PutSet("a", 6);
  PutSet("c", 6);
  PutSet("new", 6);
  group_.Foresee(keys);
  PutSet("a", 7);
  PutSet("new", 7);
  EXPECT_EQ(Commit().size(), 3u);
  EXPECT_EQ(Times("a"), (TimeList{7}));
  EXPECT_EQ(Times("b"), (TimeList{5}));
  EXPECT_EQ(Times("c"), (TimeList{6}));
  EXPECT_EQ(Times("new"), (TimeList{7}));
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

TEST_F(LatestGroupTest, ToAWideRowALayerIsAddedInMemoryAndInTheHead) {
  PutWide("a");
  PutField("a", 20, 3);
  auto changes = Commit();
  EXPECT_TRUE(IsAdded(changes, "a"));
  EXPECT_LT(changes.at("a").size(), 200u);
  EXPECT_EQ(Times("a"), (TimeList{20, 10, 9, 8, 7, 6, 5, 4, 2, 1}));
  PutField("a", 5, 9);
  EXPECT_TRUE(IsAdded(Commit(), "a")) << "nobody looks whether it is late";
  EXPECT_EQ(Times("a"), (TimeList{20, 10, 9, 8, 7, 6, 5, 4, 2, 1}));
  EXPECT_EQ(Stored("a"), tables_.Get(kTable, "a"));
}

TEST_F(LatestGroupTest, EachHeadHasTheWholeOfAWideRowFirst) {
  PutWide("a");
  head_ = 2;
  PutField("a", 20, 3);
  PutField("a", 21, 3);
  auto changes = Commit();
  ASSERT_FALSE(IsAdded(changes, "a"));
  EXPECT_EQ(changes.at("a"), tables_.Get(kTable, "a"));
  PutField("a", 22, 3);
  EXPECT_TRUE(IsAdded(Commit(), "a"));
  group_.ForgetHead();
  PutField("a", 23, 3);
  EXPECT_FALSE(IsAdded(Commit(), "a")) << "after a failed write";
}

TEST_F(LatestGroupTest, AWideRowThatLostSomethingIsWrittenWhole) {
  PutWide("a");
  PutField("a", 20, 3);
  Commit();
  EXPECT_NE(Trim("a", 0, {9}), "-") << "which no head is told";
  Commit();
  EXPECT_EQ(Times("a"), (TimeList{20, 10, 9}));
  PutWide("a");
  PutField("a", 30, 3);
  ASSERT_FALSE(Delete({"a", "b"}));
  PutField("a", 4, 3);
  const auto changes = Commit();
  EXPECT_FALSE(IsAdded(changes, "a"));
  EXPECT_EQ(Times("a"), (TimeList{4}));
}

TEST_F(LatestGroupTest, WhatIsWrittenToAWideRowAfterADeleteIsOverNothingThatItHides) {
  for (const char* key : {"a", "b", "c"}) PutWide(key);
  DeleteSpec what;
  what.rows = {"a", "d"};
  what.cells = {10, 11};
  ASSERT_TRUE(group_.Delete(std::make_shared<const DeleteRange>(kTable, ++sequence_, what)));
  PutField("a", 5, 10);
  Commit();
  EXPECT_EQ(Times("a"), (TimeList{9, 8, 7, 6, 5, 5, 4, 3, 2, 1}));
}

TEST_F(LatestGroupTest, AWideRowIsFoldedWhenLayersHaveFilledItsRoom) {
  PutWide("a");
  for (int i = 0; i < 1000; ++i) {
    PutField("a", 100 + i, i % 10);
    const auto changes = Commit();
    ASSERT_TRUE(IsAdded(changes, "a"));
    ASSERT_LT(tables_.SizeOf({kTable, "a"}), 4000u);
  }
  EXPECT_EQ(Times("a").size(), 11u);
  EXPECT_EQ(Times("a").front(), 1099);
}

TEST_F(LatestGroupTest, AFailedGroupsLayersOfWideRowsAreKeptWithoutItsBatches) {
  PutWide("a");
  PutField("a", 20, 3);
  std::string record;
  group_.AppendChanges(head_, &record);
  group_.ForgetHead();
  LatestChanges changes;
  LatestTimes oldest;
  group_.MoveTo(&changes, &oldest);
  EXPECT_EQ(Times("a").front(), 10);
  entries_.clear();
  tables_.Publish(&changes, oldest);
  EXPECT_EQ(Times("a").front(), 20);
  PutField("a", 21, 3);
  EXPECT_FALSE(IsAdded(Commit(), "a")) << "nobody knows what the head has";
}

}  // namespace
}  // namespace tallyd

#include "storage/leveldb/latest/latest_merge.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/storage/leveldb/latest/encoded_entry.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 3;

// Rows of the columns F:a, F:b and G:c, and others of F, with integers.
class LatestMergeTest : public ::testing::Test {
 protected:
  LatestMergeTest() {
    table_.id = kTable;
    table_.families = {{"F", true, {}}, {"G", true, {}}};
    table_.family_rank = {0, 1};
  }

  using Columns = std::map<std::string, int>;

  // Other columns view `name`.
  static ColumnRef RefOf(const std::string& name) {
    static const std::string a = "a", b = "b", c = "c";
    if (name == "c") return {1, c};
    return {0, name == "a"   ? std::string_view(a)
               : name == "b" ? std::string_view(b)
                             : std::string_view(name)};
  }

  std::string Entry(const Columns& columns, bool by_set) {
    std::vector<ColumnRef> refs;
    std::vector<Value> values;
    for (const auto& [name, value] : columns) {
      refs.push_back(RefOf(name));
      values.push_back(Value::Int(value));
    }
    return EncodedEntry(&sets_, table_, by_set, refs, values);
  }

  // False: it changed nothing.
  bool Put(TimeUs time, const Columns& columns, bool by_set = true,
           TableMode mode = TableMode::kLatestCell) {
    const std::string entry = Entry(columns, by_set);
    const Result<std::string_view> row = merge_.Put(kTable, mode, row_, {time, ++sequence_, entry});
    return Take(row);
  }

  bool Delete(const DeleteSpec& what, uint64_t up_to = 1'000'000) {
    const DeleteRange deleted(kTable, up_to, what);
    LatestTrim trim;
    trim.deletes.push_back(&deleted);
    return Take(merge_.Trim(kTable, row_, trim));
  }

  bool Expire(const std::vector<TimeUs>& oldest) {
    LatestTrim trim;
    trim.oldest = oldest;
    return Take(merge_.Trim(kTable, row_, trim));
  }

  bool Take(const Result<std::string_view>& row) {
    EXPECT_TRUE(row);
    if (row->data() == row_.data()) return false;
    row_ = std::string(*row);
    return true;
  }

  // "column@time" -> value; fails when a column is there twice.
  Columns Read() {
    Columns cells;
    if (row_.empty()) return cells;
    std::vector<Layer> layers;
    EXPECT_TRUE(DecodeLatest(row_, &layers));
    std::map<std::string, int> seen;
    for (const Layer& layer : layers) {
      EntryCells entry;
      EXPECT_TRUE(DecodeEntry(sets_, kTable, layer.entry, &entry));
      for (size_t i = 0; i < entry.columns.size(); ++i) {
        if (entry.values[i].is_null()) continue;
        const std::string name(entry.columns[i].qualifier);
        EXPECT_EQ(seen[name]++, 0) << name;
        cells[name + "@" + std::to_string(layer.time)] = static_cast<int>(entry.values[i].AsInt());
      }
    }
    return cells;
  }

  size_t Layers() {
    std::vector<Layer> layers;
    EXPECT_TRUE(DecodeLatest(row_, &layers));
    return layers.size();
  }

  TableInfo table_;
  ColumnRegistry sets_;
  LatestMerge merge_{sets_};
  uint64_t sequence_ = 0;
  std::string row_;
};

TEST_F(LatestMergeTest, ANewerEventOfTheSameColumnsReplacesTheOlder) {
  Put(5, {{"a", 1}, {"b", 1}});
  Put(6, {{"a", 2}, {"b", 2}});
  EXPECT_EQ(Read(), (Columns{{"a@6", 2}, {"b@6", 2}}));
  EXPECT_EQ(Layers(), 1u);
}

TEST_F(LatestMergeTest, AnOlderEventOfTheSameColumnsChangesNothing) {
  Put(6, {{"a", 2}, {"b", 2}});
  EXPECT_FALSE(Put(5, {{"a", 1}, {"b", 1}}));
  EXPECT_EQ(Read(), (Columns{{"a@6", 2}, {"b@6", 2}}));
}

TEST_F(LatestMergeTest, OfOneTimeTheLaterWriteWins) {
  Put(5, {{"a", 1}});
  Put(5, {{"a", 2}});
  EXPECT_EQ(Read(), (Columns{{"a@5", 2}}));
}

TEST_F(LatestMergeTest, EachColumnIsInOneLayer) {
  for (const bool by_set : {true, false}) {
    row_.clear();
    Put(5, {{"a", 1}, {"b", 1}}, by_set);
    Put(7, {{"b", 2}, {"c", 2}}, by_set);
    Put(6, {{"a", 3}, {"c", 3}}, by_set);
    EXPECT_EQ(Read(), (Columns{{"b@7", 2}, {"c@7", 2}, {"a@6", 3}}));
    EXPECT_EQ(Layers(), 2u);
  }
}

// Each event brings one field of many: its layer meets the old one of its own column alone.
TEST_F(LatestMergeTest, ARowOfManyLayersTakesUpEachColumn) {
  Columns columns;
  for (int round = 0; round < 2; ++round) {
    columns.clear();
    for (int i = 0; i < 300; ++i) {
      Put(round * 300 + i, {{std::to_string(i), round}});
      columns[std::to_string(i) + "@" + std::to_string(round * 300 + i)] = round;
    }
    EXPECT_EQ(Read(), columns);
    EXPECT_EQ(Layers(), 300u);
  }
  Put(1000, {{"0", 5}, {"299", 5}});
  EXPECT_EQ(Layers(), 299u);
  Put(999, {{"1", 6}, {"299", 6}});
  EXPECT_EQ(Read()["299@1000"], 5);
  EXPECT_EQ(Read()["1@999"], 6);
  EXPECT_EQ(Read().size(), 300u);
}

TEST_F(LatestMergeTest, ARowOfTheNewestEventKeepsOnlyThat) {
  const TableMode mode = TableMode::kLatestRow;
  Put(5, {{"a", 1}, {"b", 1}}, true, mode);
  EXPECT_FALSE(Put(4, {{"c", 9}}, true, mode));
  EXPECT_TRUE(Put(5, {{"c", 2}}, true, mode));
  EXPECT_EQ(Read(), (Columns{{"c@5", 2}}));
}

TEST_F(LatestMergeTest, ADeleteTakesWhatItNames) {
  const auto start = [&] {
    row_.clear();
    Put(5, {{"a", 1}, {"b", 1}});
    Put(6, {{"c", 2}});
  };
  start();
  DeleteSpec what;
  what.cells = {0, 5};
  EXPECT_FALSE(Delete(what)) << "of no layer's time";
  what.cells = {5, 6};
  EXPECT_TRUE(Delete(what));
  EXPECT_EQ(Read(), (Columns{{"c@6", 2}}));
  start();
  what = {};
  what.family = FamilyId{0};
  what.qualifier = "b";
  EXPECT_TRUE(Delete(what));
  EXPECT_EQ(Read(), (Columns{{"a@5", 1}, {"c@6", 2}}));
  EXPECT_FALSE(Delete(what)) << "it is gone";
  what.qualifier.reset();
  Delete(what);
  EXPECT_EQ(Read(), (Columns{{"c@6", 2}}));
  EXPECT_TRUE(Delete({}));
  EXPECT_EQ(row_, "");
}

TEST_F(LatestMergeTest, ADeleteTakesNothingThatFollowsIt) {
  Put(9, {{"a", 1}, {"b", 1}});  // Sequence 1.
  Put(5, {{"c", 2}});            // 2.
  EXPECT_TRUE(Delete({}, 2));
  EXPECT_EQ(Read(), (Columns{{"c@5", 2}}));
}

TEST_F(LatestMergeTest, CellsPastTheirFamilysAgeGo) {
  constexpr TimeUs kAll = std::numeric_limits<TimeUs>::min();
  Put(5, {{"a", 1}, {"c", 1}});
  Put(7, {{"b", 2}});
  EXPECT_FALSE(Expire({5, 5}));
  EXPECT_FALSE(Expire({kAll, 5}));
  EXPECT_TRUE(Expire({6, kAll}));
  EXPECT_EQ(Read(), (Columns{{"c@5", 1}, {"b@7", 2}}));
  EXPECT_FALSE(Expire({6, kAll})) << "they are gone";
  EXPECT_TRUE(Expire({6, 6}));
  EXPECT_EQ(Read(), (Columns{{"b@7", 2}}));
  EXPECT_TRUE(Expire({8, 8}));
  EXPECT_EQ(row_, "");
}

TEST_F(LatestMergeTest, CellsOfAFamilyThatWasAddedSinceHaveNoAge) {
  Put(5, {{"a", 1}, {"c", 1}});
  EXPECT_TRUE(Expire({6}));
  EXPECT_EQ(Read(), (Columns{{"c@5", 1}}));
}

TEST_F(LatestMergeTest, AMalformedRowIsAnError) {
  const Result<std::string_view> row = merge_.Put(kTable, TableMode::kLatestCell, "\x05junk", {});
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace tallyd

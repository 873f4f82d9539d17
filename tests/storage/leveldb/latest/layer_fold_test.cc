#include "storage/leveldb/latest/layer_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/storage/leveldb/latest/encoded_entry.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 3;
// Sets of few columns, and of more than a word has bits.
constexpr unsigned kColumns[] = {12, 64, 65, 80};

class LayerFoldTest : public ::testing::TestWithParam<unsigned> {
 protected:
  using Columns = std::map<std::string, int>;
  // By column: its value, and when it was written.
  using Cells = std::map<std::string, std::pair<WriteMoment, int>>;

  LayerFoldTest() {
    table_.id = kTable;
    table_.families = {{"F", true, {}}};
    table_.family_rank = {0};
    for (unsigned i = 0; i < columns_; ++i) names_.push_back("c" + std::to_string(10 + i));
  }

  // Numbers of every size, and a text now and then.
  static Value ValueOf(const int& n) {
    if (n % 50 == 0) return Value::String({reinterpret_cast<const char*>(&n), sizeof n});
    return n % 49 == 0 ? Value::Int(INT64_MAX - n) : Value::Int(n);
  }
  static int NumberOf(const Value& value) {
    int n = 0;
    if (value.type() == ValueType::kString) {
      std::memcpy(&n, value.AsView().data(), sizeof n);
      return n;
    }
    return static_cast<int>(value.AsInt() > INT32_MAX ? INT64_MAX - value.AsInt() : value.AsInt());
  }

  std::string Entry(const Columns& columns, bool by_set, bool sparse) {
    std::vector<ColumnRef> refs;
    std::vector<Value> values;
    for (const std::string& name : names_) {
      const auto value = columns.find(name);
      if (value == columns.end() && !sparse) continue;
      refs.push_back({0, name});
      values.push_back(value == columns.end() ? Value() : ValueOf(value->second));
    }
    return EncodedEntry(&sets_, table_, by_set, refs, values);
  }

  void AddTo(Cells* cells, const Layer& layer, const Columns& columns) {
    for (const auto& [name, value] : columns) {
      const WriteMoment moment{layer.time, layer.sequence};
      const auto [cell, added] = cells->try_emplace(name, moment, value);
      if (!added && moment.IsNewerThan(cell->second.first)) cell->second = {moment, value};
    }
  }

  // Fails when a column is there twice.
  Cells Read(std::string_view row) {
    Cells cells;
    std::vector<Layer> layers;
    EXPECT_TRUE(DecodeLatest(row, &layers));
    for (const Layer& layer : layers) {
      EntryCells entry;
      EXPECT_TRUE(DecodeEntry(sets_, kTable, layer.entry, &entry));
      for (size_t i = 0; i < entry.columns.size(); ++i) {
        if (entry.values[i].is_null()) continue;
        const std::string name(entry.columns[i].qualifier);
        const WriteMoment moment{layer.time, layer.sequence};
        const int value = NumberOf(entry.values[i]);
        EXPECT_TRUE(cells.try_emplace(name, moment, value).second) << name;
      }
    }
    return cells;
  }

  static void ExpectEqual(const Cells& a, const Cells& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, cell] : a) {
      const auto other = b.find(name);
      ASSERT_NE(other, b.end()) << name;
      EXPECT_EQ(cell.first.time, other->second.first.time) << name;
      EXPECT_EQ(cell.first.sequence, other->second.first.sequence) << name;
      EXPECT_EQ(cell.second, other->second.second) << name;
    }
  }

  std::string Held(const std::string& folded, const std::string& added) {
    const OpenRow open{7, folded, added};
    std::string held(OpenRowSize(open), '\0');
    EncodeOpenRow(held.data(), open);
    return held;
  }

  const unsigned columns_ = kColumns[GetParam() % 4];
  TableInfo table_;
  ColumnRegistry sets_;
  LayerFold fold_{sets_};
  std::vector<std::string> names_;
};

TEST_P(LayerFoldTest, ARowIsTheNewestOfEachColumnHoweverItsLayersCame) {
  std::mt19937 random(GetParam());
  const auto below = [&](unsigned limit) { return random() % limit; };
  for (int round = 0; round < 200; ++round) {
    Cells cells;
    std::string folded, open, added;
    const bool some_by_name = below(4) == 0;
    uint64_t sequence = 0;
    for (size_t n = 1 + below(40); n > 0; --n) {
      Columns columns;
      const bool all = below(8) == 0;
      for (size_t i = all ? 0 : 1 + below(below(3) == 0 ? columns_ : 2); i > 0; --i) {
        columns[names_[below(columns_)]] = static_cast<int>(random() % 1000);
      }
      for (size_t i = 0; all && i < columns_; ++i) {
        columns[names_[i]] = static_cast<int>(random() % 1000);
      }
      const bool by_set = !some_by_name || below(3) > 0;
      const std::string entry = Entry(columns, by_set, by_set && below(4) == 0);
      const Layer layer{static_cast<TimeUs>(below(20)), ++sequence, entry};
      AddTo(&cells, layer, columns);
      // Behind the row in memory, or just come; folded now and then.
      AppendLayer(layer, folded.empty() || below(2) == 0 ? &added : &open);
      if (below(5) > 0) continue;
      const std::string held = folded.empty() ? folded : Held(folded, open);
      folded = fold_.FoldHeld(kTable, held, added);
      open.clear();
      added.clear();
      ExpectEqual(Read(folded), cells);
    }
    folded = fold_.FoldHeld(kTable, folded, open + added);
    ExpectEqual(Read(folded), cells);
    EXPECT_EQ(fold_.FoldHeld(kTable, folded, {}).data(), folded.data()) << "nothing was added";
    EXPECT_EQ(fold_.FoldHeld(kTable, Held(folded, ""), {}), folded);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LayerFoldTest, ::testing::Range(1u, 9u));

TEST_P(LayerFoldTest, AWholeLayerThatLacksAValueIsMalformedUnlessItIsCovered) {
  Columns columns;
  for (const std::string& name : names_) columns[name] = 1;
  const std::string whole = Entry(columns, true, false);
  const std::string newest = Entry({{names_[0], 2}}, true, true);
  columns.erase(names_[2]);
  std::string lacking = Entry(columns, true, true);
  lacking[0] = static_cast<char>(EntryTag::kBySet);
  std::vector<Layer> layers = {{9, 3, newest}, {7, 2, lacking}};
  EXPECT_FALSE(fold_.Fold(kTable, &layers));
  EXPECT_EQ(layers.size(), 2u);
  layers = {{9, 3, newest}, {8, 2, whole}, {7, 1, lacking}};
  ASSERT_TRUE(fold_.Fold(kTable, &layers));
  EXPECT_EQ(layers.size(), 2u);
}

TEST_P(LayerFoldTest, AMalformedLayerLeavesTheLayersAsTheyAre) {
  std::vector<Layer> layers = {{9, 2, "junk"}, {5, 1, "junk"}};
  EXPECT_FALSE(fold_.Fold(kTable, &layers));
  EXPECT_EQ(layers.size(), 2u);
  std::string row;
  EncodeLatest(layers, &row);
  std::string added;
  AppendLayer({7, 3, "junk"}, &added);
  const std::string folded(fold_.FoldHeld(kTable, row, added));
  ASSERT_TRUE(DecodeLatest(folded, &layers));
  EXPECT_EQ(layers.size(), 3u);
}

}  // namespace
}  // namespace tallyd

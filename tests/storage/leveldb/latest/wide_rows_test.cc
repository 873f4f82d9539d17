// Wide rows of latest tables against a plain map: fields one at a time, late and not, deletes,
// heads that begin and are sealed, writes that fail, and starts at any point.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

#include "storage/leveldb/env/status.h"
#include "storage/leveldb/latest/latest_group.h"
#include "storage/leveldb/latest/latest_loader.h"
#include "tests/storage/leveldb/latest/encoded_entry.h"
#include "tests/storage/leveldb/latest/memory_head.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 3;
constexpr size_t kFields = 60;
constexpr TimeUs kTimes = 300;

class WideRowsTest : public ::testing::TestWithParam<unsigned> {
 protected:
  // By row and field: its value, and when it was written.
  using Cell = std::pair<WriteMoment, int64_t>;
  using Cells = std::map<std::string, std::map<std::string, Cell>>;

  WideRowsTest() {
    TableInfo& table = infos_[kTable];
    table.id = kTable;
    table.families = {{"F", true, {}}};
    table.family_rank = {0};
    for (size_t i = 0; i < kFields; ++i) fields_.push_back(fmt::format("f{:03}", i));
    heads_.emplace_back();
  }

  size_t Below(size_t limit) { return random_() % limit; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  const std::string& AnyRow() { return rows_[Below(rows_.size())]; }
  MemoryHead& newest() { return heads_.back(); }
  uint64_t newest_number() const { return first_head_ + heads_.size() - 1; }

  void Put() {
    std::set<std::string> names;
    for (size_t n = OneIn(4) ? 1 + Below(5) : 1; n > 0; --n) names.insert(fields_[Below(kFields)]);
    std::vector<ColumnRef> columns;
    std::vector<Value> values;
    const std::string& row = AnyRow();
    const WriteMoment moment{static_cast<TimeUs>(Below(kTimes)), ++sequence_};
    for (const std::string& name : names) {
      columns.push_back({0, name});
      values.push_back(Value::Int(static_cast<int64_t>(random_() >> 8)));
      Cell& cell = next_[row].try_emplace(name, moment, values.back().AsInt()).first->second;
      if (moment.IsNewerThan(cell.first)) cell = {moment, values.back().AsInt()};
    }
    entries_.push_back(EncodedEntry(&sets_, infos_[kTable], !OneIn(50), columns, values));
    const Layer layer{moment.time, moment.sequence, entries_.back()};
    ASSERT_TRUE(group_.Put({kTable, row}, TableMode::kLatestCell, layer, {}));
  }

  void Delete() {
    DeleteSpec what;
    const std::string& row = AnyRow();
    what.rows = {row, row + '\0'};
    what.cells.from = static_cast<TimeUs>(Below(kTimes));
    what.cells.to = what.cells.from + static_cast<TimeUs>(Below(OneIn(4) ? kTimes : 5));
    ASSERT_FALSE(*group_.Delete(std::make_shared<const DeleteRange>(kTable, ++sequence_, what)));
    std::erase_if(next_[row], [&](const auto& cell) {
      const TimeUs time = cell.second.first.time;
      return time >= what.cells.from && time < what.cells.to;
    });
  }

  void Commit() {
    const bool fails = OneIn(20);
    std::string record;
    group_.AppendChanges(newest_number(), &record);
    if (!fails || OneIn(2)) {
      cells_ = next_;
      if (!record.empty()) newest().Put(LatestChangesKey(sequence_), record);
      if (fails) {
        PublishFailed();
      } else {
        group_.Publish();
      }
    }
    next_ = cells_;
    if (fails) group_.ForgetHead();
    group_.Clear();
    entries_.clear();
  }

  // What a write that failed left in the log all the same.
  void PublishFailed() {
    LatestChanges changes;
    LatestTimes oldest;
    group_.MoveTo(&changes, &oldest);
    tables_.Publish(&changes, oldest);
  }

  void Seal() {
    if (heads_.size() == 1) return;
    for (const std::string& row : rows_) {
      const std::string_view stored = group_.ToStore({kTable, row});
      base_[row] = stored;
    }
    group_.Clear();
    heads_.pop_front();
    ++first_head_;
  }

  void Start() {
    LatestLoader loader(sets_, infos_);
    for (const auto& [row, value] : base_) {
      if (value.empty()) continue;
      ASSERT_TRUE(loader.AddStored(RowPrefix(KeySpace::kLatest, kTable, row), value));
    }
    for (MemoryHead& head : heads_) ASSERT_TRUE(loader.AddChanges(head.NewIterator().get()));
    tables_.Replace(loader.Take());
    group_.ForgetHead();
  }

  void Check() {
    for (const std::string& row : rows_) {
      SCOPED_TRACE(row);
      const std::string held = tables_.Get(kTable, row);
      std::vector<Layer> layers;
      ASSERT_EQ(DecodeLatest(held, &layers), !cells_[row].empty());
      std::map<std::string, Cell> left = cells_[row];
      for (const Layer& layer : layers) {
        EntryCells entry;
        ASSERT_TRUE(DecodeEntry(sets_, kTable, layer.entry, &entry));
        for (size_t i = 0; i < entry.columns.size(); ++i) {
          if (entry.values[i].is_null()) continue;
          const auto cell = left.find(std::string(entry.columns[i].qualifier));
          ASSERT_NE(cell, left.end()) << entry.columns[i].qualifier;
          EXPECT_EQ(cell->second.first.time, layer.time);
          EXPECT_EQ(cell->second.first.sequence, layer.sequence);
          EXPECT_EQ(cell->second.second, entry.values[i].AsInt());
          left.erase(cell);
        }
      }
      EXPECT_TRUE(left.empty());
    }
  }

  std::mt19937_64 random_{GetParam()};
  std::vector<std::string> rows_ = {"a", "b", "c"};
  std::vector<std::string> fields_;
  std::map<TableId, TableInfo> infos_;
  ColumnRegistry sets_;
  LatestTables tables_{sets_};
  LatestDeletes deletes_;
  LatestGroup group_{sets_, &tables_, &deletes_, 1000};
  std::deque<std::string> entries_;  // Of the group at hand.
  uint64_t sequence_ = 0;
  Cells cells_;  // As of the last commit.
  Cells next_;
  std::map<std::string, std::string> base_;
  std::deque<MemoryHead> heads_;
  uint64_t first_head_ = 1;
};

TEST_P(WideRowsTest, AreTheNewestValueOfEachFieldWhateverHappens) {
  for (int round = 0; round < 600 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    for (size_t n = 1 + Below(OneIn(5) ? 200 : 8); n > 0; --n) Put();
    if (OneIn(6)) Delete();
    if (OneIn(10)) Put();
    Commit();
    if (OneIn(12)) heads_.emplace_back();
    if (OneIn(15)) Seal();
    if (OneIn(15)) Start();
    Check();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WideRowsTest, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace tallyd

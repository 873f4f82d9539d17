// Entries of one row, newest first, into a row: deletes, then writes, then rules, then the spec.
#include "storage/leveldb/read/row_assembler.h"

#include <gtest/gtest.h>

#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

using Written = std::vector<std::pair<std::string, int64_t>>;

class RowAssemblerTest : public ::testing::Test {
 protected:
  RowAssemblerTest() {
    info_.id = 3;
    info_.families.resize(2);
    info_.families[0].name = "B";
    info_.families[1].name = "A";
    info_.families[0].configured = info_.families[1].configured = true;
    info_.family_rank = {1, 0};  // In name order, A comes first.
    spec_.now = 1'000'000;
  }

  Family& rules() { return info_.families[0].rules; }

  void Begin() {
    plan_ = std::make_unique<ColumnPlan>(std::make_shared<const TableInfo>(info_), spec_, sets_);
    row_ = std::make_unique<RowAssembler>(plan_.get(), spec_, versions_);
    row_->Begin();
  }
  void Hide(uint64_t sequence, const DeleteSpec& what) {
    deletes_.push_back(std::make_unique<DeleteRange>(3, sequence, what));
    row_->Hide(deletes_.back().get());
  }
  bool AddBytes(TimeUs time, uint64_t sequence, std::string_view entry) {
    if (row_ == nullptr) Begin();
    return row_->Add(time, sequence, entry);
  }
  // By set: columns of family B.
  bool Add(TimeUs time, uint64_t sequence, const Written& cells) {
    std::vector<ColumnRef> columns;
    std::vector<Value> values;
    for (const auto& [name, value] : cells) {
      columns.push_back({0, name});
      values.push_back(Value::Int(value));
    }
    ByteBuffer out;
    AppendEntry(*sets_.Intern(info_, columns), values, &out);
    return AddBytes(time, sequence, out.View(0, out.size()));
  }
  bool AddNamed(TimeUs time, uint64_t sequence, const ColumnRef& column, int64_t value) {
    ByteBuffer out;
    AppendEntry({&column, 1}, std::vector{Value::Int(value)}, &out);
    return AddBytes(time, sequence, out.View(0, out.size()));
  }
  // "time:column=value,column=value" of each part.
  std::vector<std::string> Finish() {
    std::vector<std::string> parts;
    if (!row_->Finish()) return parts;
    const Row& row = row_->row();
    for (const RowPart& part : row.parts) {
      std::string text = std::to_string(part.time) + ":";
      for (const CellView& cell : row.CellsOf(part)) {
        if (text.back() != ':') text += ',';
        text += std::string(cell.column.qualifier) + "=" + ToText(cell.value);
      }
      parts.push_back(text);
    }
    return parts;
  }

  using Parts = std::vector<std::string>;
  TableInfo info_;
  ScanSpec spec_;
  CellMerge::Versions versions_ = CellMerge::Versions::kAll;
  ColumnRegistry sets_;
  std::unique_ptr<ColumnPlan> plan_;
  std::unique_ptr<RowAssembler> row_;
  std::vector<std::unique_ptr<DeleteRange>> deletes_;
};

TEST_F(RowAssemblerTest, EachTimeIsAPartAndTheNewestComesFirst) {
  Add(20, 1, {{"a", 1}, {"b", 2}});
  Add(10, 2, {{"a", 3}});
  EXPECT_EQ(Finish(), (Parts{"20:a=1,b=2", "10:a=3"}));
  EXPECT_NE(row_->row().parts[0].set, nullptr);
}

TEST_F(RowAssemblerTest, OfTwoWritesToACellTheLaterCommitCounts) {
  Add(10, 9, {{"a", 2}});
  Add(10, 5, {{"a", 1}, {"b", 1}});
  EXPECT_EQ(Finish(), (Parts{"10:a=2,b=1"}));
  EXPECT_EQ(row_->row().parts[0].set, nullptr) << "they are of two entries";
}

TEST_F(RowAssemblerTest, CellsOfSeveralEntriesAreInReadOrder) {
  AddNamed(10, 9, {0, "a"}, 1);
  AddNamed(10, 8, {1, "z"}, 2);
  AddNamed(10, 7, {1, "b"}, 3);
  EXPECT_EQ(Finish(), (Parts{"10:b=3,z=2,a=1"})) << "family A is before B";
}

TEST_F(RowAssemblerTest, ADeleteHidesWhatWasCommittedBeforeIt) {
  Begin();
  Hide(6, DeleteSpec{});
  Add(20, 7, {{"a", 2}});
  Add(10, 5, {{"a", 1}});
  EXPECT_EQ(Finish(), (Parts{"20:a=2"}));
}

TEST_F(RowAssemblerTest, ADeletedCellDoesNotCountAsAVersion) {
  rules().max_versions = 1;
  Begin();
  DeleteSpec what;
  what.cells = {20, 21};
  Hide(6, what);
  Add(20, 5, {{"a", 2}});
  Add(10, 4, {{"a", 1}});
  EXPECT_EQ(Finish(), (Parts{"10:a=1"}));
}

TEST_F(RowAssemblerTest, ADeleteOfAColumnLeavesTheOthers) {
  Begin();
  DeleteSpec what;
  what.family = FamilyId{0};
  what.qualifier = "a";
  Hide(6, what);
  Add(10, 5, {{"a", 1}, {"b", 2}});
  EXPECT_EQ(Finish(), (Parts{"10:b=2"}));
}

TEST_F(RowAssemblerTest, RulesCountVersionsAlsoOutsideOfTheTimesAskedFor) {
  rules().max_versions = 1;
  spec_.cells = {0, 15};
  Add(20, 5, {{"a", 2}});
  Add(10, 4, {{"a", 1}});
  EXPECT_EQ(Finish(), Parts{}) << "a newer cell has outdated it";
}

TEST_F(RowAssemblerTest, TheSpecCountsVersionsWithinTheTimesAskedFor) {
  spec_.versions = 1;
  spec_.cells = {0, 15};
  Add(20, 5, {{"a", 2}});
  Add(10, 4, {{"a", 1}, {"b", 1}});
  Add(5, 3, {{"a", 0}});
  EXPECT_EQ(Finish(), (Parts{"10:a=1,b=1"}));
}

TEST_F(RowAssemblerTest, WhatIsPastItsAgeIsNotReturned) {
  rules().max_age_us = 100;
  AddNamed(spec_.now - 100, 5, {0, "a"}, 1);
  AddNamed(spec_.now - 101, 4, {0, "b"}, 2);
  EXPECT_EQ(Finish(), (Parts{std::to_string(spec_.now - 100) + ":a=1"}));
}

TEST_F(RowAssemblerTest, OfALatestRowOnlyTheNewestCellOfEachColumnCounts) {
  versions_ = CellMerge::Versions::kNewest;
  Add(20, 5, {{"a", 2}});
  Add(10, 4, {{"a", 1}, {"b", 1}});
  EXPECT_EQ(Finish(), (Parts{"20:a=2", "10:b=1"}));
}

TEST_F(RowAssemblerTest, OnlyTheColumnsAskedForAreReturned) {
  spec_.columns = {{"*", "b"}};
  Add(20, 5, {{"a", 2}});
  Add(10, 4, {{"a", 1}, {"b", 1}, {"c", 1}});
  EXPECT_EQ(Finish(), (Parts{"10:b=1"}));
}

TEST_F(RowAssemblerTest, ItTellsOnceThereIsANewerCell) {
  Add(20, 5, {{"a", 2}});
  EXPECT_FALSE(row_->HasCellAfter(20)) << "more of its time may come";
  EXPECT_TRUE(row_->HasCellAfter(10));
}

TEST_F(RowAssemblerTest, ARowThatWasBegunAnewHasNothingOfTheOneBefore) {
  Add(20, 5, {{"a", 2}});
  Finish();
  row_->Begin();
  EXPECT_EQ(Finish(), Parts{});
  row_->Begin();
  Add(20, 5, {{"a", 2}});
  EXPECT_EQ(Finish(), (Parts{"20:a=2"}));
}

TEST_F(RowAssemblerTest, TheBytesGivenNeedNotStay) {
  const std::string text(100, 'x');
  {
    ByteBuffer out;
    const ColumnRef column{0, "name"};
    AppendEntry({&column, 1}, std::vector{Value::String(text)}, &out);
    std::string bytes(out.data(), out.size());
    ASSERT_TRUE(AddBytes(10, 5, bytes));
    bytes.assign(bytes.size(), '?');
  }
  EXPECT_EQ(Finish(), (Parts{"10:name=" + text}));
}

TEST_F(RowAssemblerTest, MalformedEntriesAreRefused) {
  ByteBuffer out;
  const std::vector<ColumnRef> columns = {{0, "a"}, {0, "b"}};
  const ColumnSet* set = sets_.Intern(info_, columns);
  AppendEntry(*set, std::vector{Value::Int(1), Value::String("text")}, &out);
  const std::string bytes(out.data(), out.size());
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    Begin();
    EXPECT_FALSE(AddBytes(10, 5, bytes.substr(0, cut))) << cut;
  }
  Begin();
  EXPECT_FALSE(AddBytes(10, 5, bytes + "x")) << "bytes left over";
  EXPECT_FALSE(AddBytes(9, 5, "\x01\x63")) << "a set without a record";
  EXPECT_FALSE(AddBytes(8, 5, "\x01\x01\x07\x07")) << "absent values of a complete entry";
}

}  // namespace
}  // namespace tallyd

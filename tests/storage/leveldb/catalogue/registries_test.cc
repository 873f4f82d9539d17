// Column sets by number and by columns: interned once, stored when they are first used.
#include "storage/leveldb/catalogue/registries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>

#include "storage/batch.h"

namespace tallyd {
namespace {

TableInfo Table(TableId id) {
  TableInfo table;
  table.id = id;
  table.families.resize(2);
  table.families[0].name = "B";
  table.families[1].name = "A";
  table.family_rank = {1, 0};
  return table;
}

class ColumnRegistryTest : public ::testing::Test {
 protected:
  const ColumnSet* Intern(const std::vector<ColumnRef>& columns, TableId table = 1) {
    return sets_.Intern(Table(table), columns);
  }
  const ColumnSet* InternOne(const std::string& qualifier) {
    return Intern(std::vector<ColumnRef>{{0, qualifier}});
  }

  ColumnRegistry sets_;
};

TEST_F(ColumnRegistryTest, ColumnsAreInReadOrderHoweverTheyCome) {
  const ColumnSet* set = Intern({{0, "z"}, {0, "a"}, {1, "m"}});
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(set->columns, (std::vector<Column>{{1, "m"}, {0, "a"}, {0, "z"}}));
  EXPECT_EQ(Intern({{1, "m"}, {0, "z"}, {0, "a"}}), set) << "equal sets are one";
  EXPECT_NE(Intern({{1, "m"}, {0, "z"}}), set);
}

TEST_F(ColumnRegistryTest, ASetIsFoundByItsNumberAndByItsColumns) {
  const ColumnSet* set = InternOne("a");
  EXPECT_EQ(sets_.Find(1, set->id), set);
  EXPECT_EQ(sets_.FindEqual(1, set->columns), set);
  EXPECT_EQ(sets_.Find(1, set->id + 1), nullptr);
  EXPECT_EQ(sets_.Find(2, set->id), nullptr);
  EXPECT_EQ(sets_.FindEqual(1, {{0, "b"}}), nullptr);
  EXPECT_EQ(sets_.FindEqual(2, set->columns), nullptr);
}

TEST_F(ColumnRegistryTest, SetsOfTablesAreApart) {
  const ColumnSet* one = Intern({{0, "a"}}, 1);
  const ColumnSet* two = Intern({{0, "a"}}, 2);
  EXPECT_NE(one, two);
  EXPECT_EQ(one->table, 1u);
  EXPECT_EQ(two->table, 2u);
}

TEST_F(ColumnRegistryTest, ASetIsStoredOnceSomebodySaysSo) {
  const ColumnSet* set = InternOne("a");
  EXPECT_FALSE(ColumnRegistry::IsStored(*set));
  EXPECT_TRUE(sets_.StoredSets(1).empty());
  ColumnRegistry::SetStored(*set, true);
  EXPECT_TRUE(ColumnRegistry::IsStored(*set));
  EXPECT_EQ(sets_.StoredSets(1), std::vector{set->id});
}

TEST_F(ColumnRegistryTest, AfterAReopenOnlyWhatWasReadIsStored) {
  const ColumnSet* kept = InternOne("kept");
  const ColumnSet* lost = InternOne("lost");
  for (const ColumnSet* set : {kept, lost}) ColumnRegistry::SetStored(*set, true);
  sets_.ForgetStored();
  ASSERT_TRUE(sets_.Load(1, kept->id, kept->columns));
  EXPECT_EQ(InternOne("kept"), kept) << "whoever holds a set goes on with it";
  EXPECT_TRUE(ColumnRegistry::IsStored(*kept));
  EXPECT_FALSE(ColumnRegistry::IsStored(*lost));
}

TEST_F(ColumnRegistryTest, ASetThatChangedOnDiskIsCorruption) {
  const ColumnSet* set = InternOne("a");
  const Status loaded = sets_.Load(1, set->id, {{0, "b"}});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(set->columns[0].qualifier, "a");
}

TEST_F(ColumnRegistryTest, NumbersThatWereReadAreNotGivenAgain) {
  ASSERT_TRUE(sets_.Load(1, 40, {{0, "old"}}));
  EXPECT_GT(InternOne("new")->id, 40u);
  EXPECT_EQ(InternOne("old")->id, 40u);
}

TEST_F(ColumnRegistryTest, TheLastNumberOfAllIsReadButNoneIsGivenAfterIt) {
  constexpr uint32_t kLast = std::numeric_limits<uint32_t>::max();
  ASSERT_TRUE(sets_.Load(1, kLast - 1, {{0, "a"}}));
  EXPECT_EQ(InternOne("b"), nullptr);
  ASSERT_TRUE(sets_.Load(1, kLast, {{0, "c"}}));
  EXPECT_EQ(InternOne("d"), nullptr);
  EXPECT_EQ(sets_.Find(1, kLast)->columns[0].qualifier, "c");
}

TEST_F(ColumnRegistryTest, ATableHasAtMostSoManySets) {
  for (size_t i = 0; i < ColumnRegistry::kMaxSets; ++i) {
    ASSERT_NE(InternOne(fmt::format("c{}", i)), nullptr);
  }
  EXPECT_EQ(InternOne("one too many"), nullptr);
  EXPECT_NE(InternOne("c5"), nullptr) << "what is known stays";
  EXPECT_NE(Intern({{0, "a"}}, 2), nullptr) << "another table has its own";
}

TEST_F(ColumnRegistryTest, LongNamesAreFewerSets) {
  size_t sets = 0;
  const std::string name(kMaxQualifierBytes - 10, 'q');
  while (sets < 2000 && InternOne(name + fmt::format("{}", sets)) != nullptr) ++sets;
  EXPECT_LE(sets * kMaxQualifierBytes, ColumnRegistry::kMaxBytes + kMaxQualifierBytes);
  EXPECT_GT(sets, 1000u);
}

TEST_F(ColumnRegistryTest, ThreadsThatInternTheSameGetTheSame) {
  std::vector<std::vector<const ColumnSet*>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& of_thread : found) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) of_thread.push_back(InternOne(fmt::format("c{}", i)));
      });
    }
  }
  for (const auto& of_thread : found) EXPECT_EQ(of_thread, found[0]);
  EXPECT_EQ(std::set(found[0].begin(), found[0].end()).size(), 500u);
}

}  // namespace
}  // namespace tallyd

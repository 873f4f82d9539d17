// What a scan wants of each column: by patterns, by rules, by one number throughout the scan.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "storage/leveldb/read/row_assembler.h"

namespace tallyd {
namespace {

constexpr TimeUs kNow = 1'000'000;

class ColumnPlanTest : public ::testing::Test {
 protected:
  ColumnPlanTest() {
    info_.id = 3;
    info_.families.resize(3);
    info_.family_rank = {0, 1, 2};
    const char* names[] = {"cpu", "disk", "gone"};
    for (size_t i = 0; i < 3; ++i) {
      info_.families[i].name = names[i];
      info_.families[i].configured = i < 2;
    }
  }

  Family& rules(FamilyId family) { return info_.families[family].rules; }
  TablePtr table() const { return std::make_shared<const TableInfo>(info_); }
  ColumnPlan Plan(std::vector<ColumnPattern> columns = {}) {
    ScanSpec spec;
    spec.columns = std::move(columns);
    spec.now = kNow;
    return {table(), spec, sets_};
  }
  bool Selects(std::vector<ColumnPattern> columns, const ColumnRef& column) {
    return Plan(std::move(columns)).Named(column).selected;
  }

  TableInfo info_;
  ColumnRegistry sets_;
};

TEST_F(ColumnPlanTest, WithoutPatternsEveryColumnOfAConfiguredFamilyIsWanted) {
  EXPECT_TRUE(Selects({}, {0, "user"}));
  EXPECT_TRUE(Selects({}, {1, ""}));
  EXPECT_FALSE(Selects({}, {2, "kept"})) << "it is no longer configured";
}

TEST_F(ColumnPlanTest, AColumnIsWantedWhereAnyPatternMatchesItsFamilyAndQualifier) {
  const std::vector<ColumnPattern> patterns = {{"cpu", "us*"}, {"d*", "read"}};
  EXPECT_TRUE(Selects(patterns, {0, "user"}));
  EXPECT_FALSE(Selects(patterns, {0, "read"}));
  EXPECT_TRUE(Selects(patterns, {1, "read"}));
  EXPECT_FALSE(Selects({{"*", "*"}}, {2, "kept"}));
}

TEST_F(ColumnPlanTest, AFamilyThatIsNewerThanTheScanIsNotWanted) {
  EXPECT_FALSE(Selects({}, {3, "new"}));
  EXPECT_FALSE(Selects({{"*", "*"}}, {std::numeric_limits<FamilyId>::max(), "damaged"}));
}

TEST_F(ColumnPlanTest, WhereNoFamilyMatchesNothingIsVisible) {
  EXPECT_TRUE(Plan().any_visible());
  EXPECT_TRUE(Plan({{"cpu", "nothing"}}).any_visible()) << "qualifiers are not known beforehand";
  EXPECT_FALSE(Plan({{"net", "*"}}).any_visible());
  EXPECT_FALSE(Plan({{"gone", "*"}}).any_visible());
}

TEST_F(ColumnPlanTest, AColumnHasOneNumberWhicheverSetOrNameItComesBy) {
  const std::vector<ColumnRef> ab = {{0, "a"}, {0, "b"}};
  const std::vector<ColumnRef> bc = {{0, "b"}, {0, "c"}};
  const uint32_t first = sets_.Intern(info_, ab)->id;
  const uint32_t second = sets_.Intern(info_, bc)->id;
  ColumnPlan plan = Plan();
  const uint32_t a = plan.Named({0, "a"}).number;
  const ColumnPlan::OfSet* of_ab = plan.Set(first);
  const ColumnPlan::OfSet* of_bc = plan.Set(second);
  ASSERT_TRUE(of_ab != nullptr && of_bc != nullptr);
  EXPECT_EQ(of_ab->picks[0].number, a);
  EXPECT_EQ(of_ab->picks[1].number, of_bc->picks[0].number);
  EXPECT_EQ(plan.columns(), 3u);
  EXPECT_EQ(plan.Set(first), of_ab) << "it is worked out once";
}

TEST_F(ColumnPlanTest, ASetIsReadUpToItsLastWantedColumn) {
  const std::vector<ColumnRef> columns = {{0, "a"}, {0, "b"}, {1, "c"}};
  const uint32_t set = sets_.Intern(info_, columns)->id;
  EXPECT_EQ(Plan().Set(set)->end, 3u);
  EXPECT_EQ(Plan({{"cpu", "a"}}).Set(set)->end, 1u);
  EXPECT_EQ(Plan({{"cpu", "z"}}).Set(set)->end, 0u);
}

TEST_F(ColumnPlanTest, ASetThatIsNotThereIsNull) {
  ColumnPlan plan = Plan();
  EXPECT_EQ(plan.Set(1), nullptr);
  EXPECT_EQ(plan.Set(1), nullptr) << "nor the second time";
  const ColumnRef column{0, "a"};
  const uint32_t set = sets_.Intern(info_, {&column, 1})->id;
  EXPECT_NE(plan.Set(set), nullptr) << "it may come later";
}

TEST_F(ColumnPlanTest, AgesOfTheFamiliesThatAreWantedBoundTheScan) {
  rules(0).max_age_us = 1000;
  rules(1).max_age_us = 5000;
  EXPECT_EQ(Plan().oldest(), kNow - 5000);
  EXPECT_EQ(Plan().ageless_from(), kNow - 1000);
  EXPECT_EQ(Plan({{"cpu", "*"}}).oldest(), kNow - 1000);
  EXPECT_EQ(Plan({{"disk", "*"}}).ageless_from(), kNow - 5000);
}

TEST_F(ColumnPlanTest, AFamilyWithoutAnAgeBoundsNothing) {
  rules(0).max_age_us = 1000;
  EXPECT_EQ(Plan().oldest(), std::numeric_limits<TimeUs>::min());
  EXPECT_EQ(Plan().ageless_from(), kNow - 1000);
}

TEST_F(ColumnPlanTest, VersionsAreCountedWhereAWantedFamilyLimitsThem) {
  rules(1).max_versions = 2;
  EXPECT_TRUE(Plan().counts_versions());
  EXPECT_FALSE(Plan({{"cpu", "*"}}).counts_versions());
}

TEST_F(ColumnPlanTest, WhoWritesEntriesAgainKeepsWhatIsNoLongerConfigured) {
  rules(0).max_age_us = 1000;
  ColumnPlan plan(table(), sets_, kNow);
  EXPECT_TRUE(plan.Named({2, "kept"}).selected);
  EXPECT_EQ(plan.Named({0, "a"}).rule->oldest, kNow - 1000);
}

TEST_F(ColumnPlanTest, NamesThatDoNotRecurAreForgottenBetweenRows) {
  ColumnPlan plan = Plan();
  const uint64_t generation = plan.generation();
  for (int i = 0; i < 70'000; ++i) plan.Named({0, fmt::format("c{}", i)});
  EXPECT_EQ(plan.generation(), generation) << "not within a row";
  plan.BeginRow();
  EXPECT_NE(plan.generation(), generation);
  EXPECT_EQ(plan.columns(), 0u);
  EXPECT_EQ(plan.Named({0, "c5"}).number, 0u);
}

}  // namespace
}  // namespace tallyd

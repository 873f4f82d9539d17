#include "storage/cell_merge.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace tallyd {
namespace {

using Fate = CellMerge::Fate;

GcRule Rule(const Family& rules, TimeUs now) { return GcRule::Of({"F", true, rules}, now); }

TEST(WriteMomentTest, OfOneTimeTheLaterCommitIsNewer) {
  const WriteMoment written{5, 10};
  EXPECT_TRUE(written.IsNewerThan({4, 20}));
  EXPECT_TRUE(written.IsNewerThan({5, 9}));
  EXPECT_FALSE(written.IsNewerThan({5, 10}));
  EXPECT_FALSE(written.IsNewerThan({5, 11}));
  EXPECT_FALSE(written.IsNewerThan({6, 1}));
}

TEST(CellMergeTest, OfTwoWritesToACellTheFirstThatComesCounts) {
  CellMerge merge(CellMerge::Versions::kAll);
  merge.BeginRow();
  const GcRule rule = Rule({}, 0);
  EXPECT_EQ(merge.Take(0, 5, rule), Fate::kLive);
  EXPECT_EQ(merge.Take(0, 5, rule), Fate::kCovered);
  EXPECT_EQ(merge.Take(1, 5, rule), Fate::kLive) << "another column";
  EXPECT_EQ(merge.Take(0, 4, rule), Fate::kLive) << "another time";
  merge.BeginRow();
  EXPECT_EQ(merge.Take(0, 5, rule), Fate::kLive) << "another row";
}

TEST(CellMergeTest, InAnAggregateFamilyAllWritesToACellFoldAndAreOneVersion) {
  Family rules;
  rules.aggregate = Aggregate::kSum;
  rules.max_versions = 1;
  CellMerge merge(CellMerge::Versions::kAll);
  merge.BeginRow();
  EXPECT_EQ(merge.Take(0, 5, Rule(rules, 0)), Fate::kLive);
  EXPECT_EQ(merge.Take(0, 5, Rule(rules, 0)), Fate::kFolds);
  EXPECT_EQ(merge.Take(0, 5, Rule(rules, 0)), Fate::kFolds);
  EXPECT_EQ(merge.Take(0, 4, Rule(rules, 0)), Fate::kExpired);
}

TEST(CellFoldsTest, EachPlaceIsWhatWasAddedToIt) {
  CellFolds folds;
  EXPECT_TRUE(folds.Add(Aggregate::kSum, 3, Value::Int(1), Value::Int(2)));
  EXPECT_TRUE(folds.Add(Aggregate::kSum, 3, Value::Int(1), Value::Int(4)));
  EXPECT_TRUE(folds.Add(Aggregate::kMin, 9, Value::Int(5), Value::Int(6)));
  EXPECT_FALSE(folds.Add(Aggregate::kSum, 9, Value::Int(5), Value::String("x")));
  std::map<size_t, int64_t> states;
  folds.ForEach([&](size_t place, const Value& state) { states[place] = state.AsInt(); });
  EXPECT_EQ(states, (std::map<size_t, int64_t>{{3, 7}, {9, 5}}));
}

TEST(CellMergeTest, InLatestTablesOnlyTheNewestCounts) {
  CellMerge merge(CellMerge::Versions::kNewest);
  merge.BeginRow();
  const GcRule rule = Rule({}, 0);
  EXPECT_EQ(merge.Take(0, 5, rule), Fate::kLive);
  EXPECT_EQ(merge.Take(0, 4, rule), Fate::kCovered);
}

TEST(CellMergeTest, TheLongestAgeGivesUpNothingWhateverTheClockSays) {
  Family rules;
  rules.max_age_us = std::numeric_limits<int64_t>::max();
  for (const TimeUs now : {TimeUs{-1000}, TimeUs{0}, kMaxTimeUs}) {
    CellMerge merge(CellMerge::Versions::kAll);
    merge.BeginRow();
    EXPECT_EQ(merge.Take(0, 0, Rule(rules, now)), Fate::kLive) << now;
  }
}

TEST(CellMergeTest, AFamilyGivesUpByAgeOrByVersionsOrByBoth) {
  Family any;
  any.max_age_us = 10;
  any.max_versions = 1;
  Family both = any;
  both.expire_by_both = true;
  CellMerge merge(CellMerge::Versions::kAll);
  merge.BeginRow();
  EXPECT_EQ(merge.Take(0, 95, Rule(any, 100)), Fate::kLive);
  EXPECT_EQ(merge.Take(0, 94, Rule(any, 100)), Fate::kExpired) << "a second version";
  EXPECT_EQ(merge.Take(1, 80, Rule(any, 100)), Fate::kExpired) << "too old";
  EXPECT_EQ(merge.Take(2, 95, Rule(both, 100)), Fate::kLive);
  EXPECT_EQ(merge.Take(2, 94, Rule(both, 100)), Fate::kLive) << "young enough";
  EXPECT_EQ(merge.Take(2, 80, Rule(both, 100)), Fate::kExpired);
}

TEST(CellMergeTest, AFamilyThatIsNotConfiguredGivesNothingUp) {
  Family rules;
  rules.max_age_us = 10;
  const GcRule rule = GcRule::Of({"F", false, rules}, 1000);
  EXPECT_FALSE(rule.visible);
  EXPECT_FALSE(rule.Expires(0, 5));
}

}  // namespace
}  // namespace tallyd

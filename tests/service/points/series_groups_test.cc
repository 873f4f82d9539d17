#include "service/points/series_groups.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

// Of host a twice, of b once, one of them without a rack.
PointSet HostsAndRacks() {
  PointSet set;
  set.tags = {"dc", "host", "rack"};
  set.series.resize(3);
  set.series[0].tags = {{0, "lga"}, {1, "a"}, {2, "r1"}};
  set.series[1].tags = {{0, "lga"}, {1, "a"}, {2, "r2"}};
  set.series[2].tags = {{0, "lga"}, {1, "b"}};
  return set;
}

TEST(SeriesGroupsTest, TagsAreThoseOfAllMembersApartByWhetherTheyAgree) {
  const PointSet set = HostsAndRacks();
  const auto groups = GroupSeries({}, set);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), 3u);
  EXPECT_EQ(groups[0].tags, (std::vector<std::pair<uint32_t, std::string>>{{0, "lga"}}));
  EXPECT_EQ(groups[0].joined_tags, std::vector<uint32_t>{1});
}

TEST(SeriesGroupsTest, AFilterThatGroupsKeepsItsValuesApart) {
  const PointSet set = HostsAndRacks();
  SeriesQuestion question;
  question.filters = {{"host", TagMatch::kWildcard, {"*"}, true}};
  const auto groups = GroupSeries(question, set);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].members, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(groups[0].joined_tags, std::vector<uint32_t>{2});
  EXPECT_EQ(groups[1].members, std::vector<size_t>{2});
}

TEST(SeriesGroupsTest, ByNoneEachStandsAlone) {
  SeriesQuestion question;
  question.joined_by = SeriesAggregation::kNone;
  EXPECT_EQ(GroupSeries(question, HostsAndRacks()).size(), 3u);
}

}  // namespace
}  // namespace tallyd

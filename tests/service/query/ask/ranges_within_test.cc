#include "service/query/ask/ranges_within.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

constexpr int64_t kDay = kUsPerDay;

class RangesWithinTest : public testing::Test {
 protected:
  RangesWithinTest() {
    table_.row_key = RowKeyTemplate::Parse("{host}#{ts:day}", "ts").value();
    plan_.table = &table_;
    plan_.known.values["host"] = {"a"};
    plan_.known.time = {0, 3 * kDay};
    plan_.ranges = FindKeyRanges(table_.row_key, plan_.known, TimeUnit::kMilliseconds).value();
  }
  std::vector<KeyRange> Within(const TimeRange& time) {
    return RangesWithin(plan_, TimeUnit::kMilliseconds, time).value();
  }

  Table table_;
  TablePlan plan_;
};

TEST_F(RangesWithinTest, OfThePlansOwnTimeAreItsRanges) {
  EXPECT_EQ(Within(plan_.known.time), plan_.ranges.ranges);
}

TEST_F(RangesWithinTest, OfAPartOfItHoldThatPartAlone) {
  const std::vector<KeyRange> ranges = Within({kDay, 2 * kDay});
  ASSERT_EQ(ranges.size(), 1u);
  const auto holds = [&](std::string_view key) {
    return ranges[0].start <= key && key < ranges[0].end;
  };
  EXPECT_TRUE(holds("a#19700102"));
  EXPECT_FALSE(holds("a#19700101"));
  EXPECT_FALSE(holds("a#19700103"));
}

TEST_F(RangesWithinTest, OfAScanIsTheWholeTable) {
  plan_.ranges.bounded = false;
  EXPECT_EQ(Within({kDay, 2 * kDay}), std::vector{KeyRange{}});
}

}  // namespace
}  // namespace tallyd

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/leveldb/read/entry_merge.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;

ScanRanges Make(std::vector<KeyRange> ranges, bool reverse = false) {
  ScanSpec spec;
  spec.ranges = std::move(ranges);
  spec.reverse = reverse;
  return ScanRanges(spec);
}

std::vector<std::string> Left(ScanRanges ranges) {
  std::vector<std::string> left;
  for (; !ranges.done(); ranges.Next()) left.push_back(ranges.at().start + "-" + ranges.at().end);
  return left;
}

TEST(ScanRangesTest, AScanOfEverythingHasOneRangeWithoutBounds) {
  const ScanRanges all((ScanSpec()));
  EXPECT_THAT(Left(all), ElementsAre("-"));
  EXPECT_TRUE(all.IsBeforeEnd("\xff"));
}

TEST(ScanRangesTest, NoRangesAreNothing) { EXPECT_TRUE(Make({}).done()); }

TEST(ScanRangesTest, EmptyRangesAreLeftOut) {
  EXPECT_THAT(Left(Make({{"a", "a"}, {"b", "c"}, {"e", "d"}})), ElementsAre("b-c"));
}

TEST(ScanRangesTest, AReverseScanBeginsWithTheLast) {
  EXPECT_THAT(Left(Make({{"a", "b"}, {"c", "d"}}, true)), ElementsAre("c-d", "a-b"));
}

TEST(ScanRangesTest, TheHullGoesFromTheFirstKeyToTheLast) {
  for (const bool reverse : {false, true}) {
    EXPECT_EQ(Make({{"a", "b"}, {"c", "d"}}, reverse).Hull(), (KeyRange{"a", "d"}));
  }
}

TEST(ScanRangesTest, SkippingCutsTheRangeAtHandAndPassesOverOthers) {
  ScanRanges forward = Make({{"a", "c"}, {"d", "f"}, {"g", ""}});
  forward.SkipTo("b");
  EXPECT_THAT(Left(forward), ElementsAre("b-c", "d-f", "g-"));
  forward.SkipTo("e");
  EXPECT_THAT(Left(forward), ElementsAre("e-f", "g-"));
  forward.SkipTo("a");
  EXPECT_THAT(Left(forward), ElementsAre("e-f", "g-")) << "never back";
  forward.SkipTo("z");
  EXPECT_THAT(Left(forward), ElementsAre("z-"));
}

TEST(ScanRangesTest, BackwardsTheKeySkippedToIsStillWanted) {
  ScanRanges backward = Make({{"", "c"}, {"d", "f"}, {"g", ""}}, true);
  backward.SkipTo("d");
  EXPECT_FALSE(backward.done());
  EXPECT_TRUE(backward.IsBeforeEnd("d"));
  EXPECT_FALSE(backward.IsBeforeEnd("da"));
  backward.Passed("d");
  EXPECT_THAT(Left(backward), ElementsAre("-c"));
}

TEST(ScanRangesTest, ForwardsARowThatWasReadIsNoLongerWanted) {
  ScanRanges forward = Make({{"a", ""}});
  forward.Passed("b");
  EXPECT_EQ(forward.at().start, std::string("b\0", 2));
}

}  // namespace
}  // namespace tallyd

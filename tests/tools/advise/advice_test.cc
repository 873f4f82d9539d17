// What is recommended of what was measured.
#include "tools/advise/advice.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TrialResult Of(const char* pattern, double bytes, double range_ms, double events_per_s = 1000,
               double latest_ms = 5) {
  return {pattern, "", bytes, events_per_s, range_ms, latest_ms};
}

TEST(AdviceTest, TheSimplestIsTakenUnlessAnotherIsClearlyBetter) {
  EXPECT_EQ(Advise({Of("single-timestamp", 10, 1), Of("new-cell", 9, 0.95)}).pattern,
            "single-timestamp");
  EXPECT_EQ(Advise({Of("single-timestamp", 10, 1), Of("new-cell", 5, 0.5)}).pattern, "new-cell");
}

TEST(AdviceTest, WhatABlobCostsLaterIsSaid) {
  const Advice advice =
      Advise({Of("single-timestamp", 10, 1), Of("single-timestamp-serialized", 2, 1)});
  EXPECT_EQ(advice.pattern, "single-timestamp-serialized");
  EXPECT_NE(advice.reason.find("fetches all of them"), std::string::npos);
}

TEST(AdviceTest, FasterWritesCountToo) {
  EXPECT_EQ(Advise({Of("single-timestamp", 10, 1, 100), Of("new-cell", 10, 1, 1000)}).pattern,
            "new-cell");
}

TEST(AdviceTest, LatestIsNoAnswerButACompanion) {
  const Advice advice = Advise({Of("single-timestamp", 10, 1), Of("latest", 0.1, 0.1, 9999, 0.25)});
  EXPECT_EQ(advice.pattern, "single-timestamp");
  EXPECT_NE(advice.reason.find("0.25 ms from a table of latest values"), std::string::npos);
}

TEST(AdviceTest, WhatCannotHoldTheSampleIsPassedOver) {
  EXPECT_EQ(Advise({Of("single-timestamp", 10, 1), {"new-column", "line 3"}}).pattern,
            "single-timestamp");
}

TEST(AdviceTest, WhatMeasuredNothingBreaksNothing) {
  EXPECT_EQ(Advise({Of("single-timestamp", 0, 0, 0), Of("new-cell", 0, 0, 0)}).pattern,
            "single-timestamp");
}

}  // namespace
}  // namespace tallyd

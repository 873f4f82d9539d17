#include "api/http/line_limit.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using namespace std::chrono_literals;

TEST(LineLimitTest, AKindHasALineASecondWhichSaysHowManyWereLeftOut) {
  LineLimit limit;
  const LineLimit::Time now = LineLimit::Time{} + 1h;
  EXPECT_EQ(limit.Take("a", now), "");
  EXPECT_EQ(limit.Take("a", now + 10ms), std::nullopt);
  EXPECT_EQ(limit.Take("a", now + 999ms), std::nullopt);
  EXPECT_EQ(limit.Take("b", now + 10ms), "") << "another kind";
  EXPECT_EQ(limit.Take("a", now + 1s), " (2 more of this kind were left out before)");
  EXPECT_EQ(limit.Take("a", now + 2s), "");
}

TEST(LineLimitTest, SoManyKindsAreToldApartAndNoMore) {
  LineLimit limit;
  const LineLimit::Time now = LineLimit::Time{} + 1h;
  size_t lines = 0;
  for (int i = 0; i < 3000; ++i) lines += limit.Take(std::to_string(i), now) ? 1 : 0;
  EXPECT_EQ(lines, LineLimit::kMostKinds + 1);
}

}  // namespace
}  // namespace tallyd

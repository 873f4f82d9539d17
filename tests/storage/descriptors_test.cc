#include "storage/descriptors.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(DescriptorsTest, AllPartsTogetherAreTheLimit) {
  for (const uint64_t limit : {64, 128, 1000, 1024, 4096, 65'536, 1'048'576}) {
    const Descriptors parts = DivideDescriptors(limit);
    EXPECT_EQ(parts.store() + parts.other + parts.connections, limit);
    EXPECT_GE(parts.connections, limit / 4) << limit;
    EXPECT_GE(parts.store(), limit < 1500 ? limit * 3 / 8 : size_t{500}) << limit;
    EXPECT_GT(parts.other, 7u) << limit;
  }
}

TEST(DescriptorsTest, OfALargeLimitConnectionsHaveNearlyAll) {
  const Descriptors parts = DivideDescriptors(65'536);
  EXPECT_EQ(parts.tables, 1000u);
  EXPECT_GT(parts.connections, 64'000u);
}

}  // namespace
}  // namespace tallyd

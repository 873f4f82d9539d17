#include "ingest/text/percent.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(PercentTest, EncodingAndDecodingAreInverse) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(DecodePercent(EncodePercent(all), PlusIs::kSpace), all);
}

}  // namespace
}  // namespace tallyd

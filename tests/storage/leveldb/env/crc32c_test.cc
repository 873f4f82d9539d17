#include "storage/leveldb/env/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace tallyd {
namespace {

uint32_t Of(std::string_view bytes) { return ExtendCrc32c(0, bytes); }

// RFC 3720, B.4.
TEST(Crc32cTest, IsTheOneOfTheStandard) {
  EXPECT_EQ(Of("123456789"), 0xe3069283u);
  EXPECT_EQ(Of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Of(""), 0u);
}

TEST(Crc32cTest, GoesOnFromAnyByteWithWhatWasThere) {
  std::mt19937 random(1);
  std::string bytes(100, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (size_t at = 0; at <= bytes.size(); ++at) {
    const uint32_t before = Of(std::string_view(bytes).substr(0, at));
    EXPECT_EQ(ExtendCrc32c(before, std::string_view(bytes).substr(at)), Of(bytes)) << at;
  }
}

}  // namespace
}  // namespace tallyd

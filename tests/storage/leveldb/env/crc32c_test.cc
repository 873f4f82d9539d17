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

// Side by side in pieces, where there are so many.
TEST(Crc32cTest, OfManyBytesIsThatOfOneAfterTheOther) {
  std::mt19937 random(2);
  std::string bytes(10'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (const size_t size : {383, 384, 385, 767, 768, 3071, 3072, 3073, 3456, 6144, 9999, 10'000}) {
    uint32_t one_by_one = 7;
    for (size_t at = 0; at < size; ++at) {
      one_by_one = ExtendCrc32c(one_by_one, std::string_view(bytes).substr(at, 1));
    }
    EXPECT_EQ(ExtendCrc32c(7, std::string_view(bytes).substr(0, size)), one_by_one) << size;
  }
}

}  // namespace
}  // namespace tallyd

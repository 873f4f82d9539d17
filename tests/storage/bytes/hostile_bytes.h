// Bytes for tests of decoders: short random ones that look alike, and damage of good ones.
#ifndef TALLYD_TESTS_STORAGE_BYTES_HOSTILE_BYTES_H_
#define TALLYD_TESTS_STORAGE_BYTES_HOSTILE_BYTES_H_

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

// Few different bytes, so that strings are prefixes of each other and hold what is escaped.
inline std::string RandomBytes(std::mt19937_64& random, size_t max) {
  static constexpr std::string_view kBytes(
      "\x00\x01\x02\xff\xfe"
      "ab",
      7);
  std::string bytes(random() % (max + 1), '\0');
  for (char& c : bytes) c = kBytes[random() % kBytes.size()];
  return bytes;
}

// Calls `decode` with damaged copies of `good`, each on the heap and of its exact size, so that a
// sanitizer sees a read beyond its end.
template <class Decode>
void DamageManyTimes(std::string_view good, const Decode& decode) {
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<char> bytes(good.begin(), good.end());
    for (uint64_t flips = 1 + random() % 4; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    const std::vector<char> exact(bytes);
    decode(std::string_view(exact.data(), exact.size()));
  }
}

// What `decode` takes is this record, and neither its beginning, nor more, nor what a newer version
// begins with.
template <class Decode>
void ExpectOnlyWholeReads(const std::string& record, const Decode& decode) {
  EXPECT_TRUE(decode(record));
  for (size_t cut = 0; cut < record.size(); ++cut) {
    const auto refused = decode(record.substr(0, cut));
    ASSERT_FALSE(refused) << cut;
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  }
  EXPECT_FALSE(decode(record + '\0')) << "nothing may be left over";
  std::string newer = record;
  ++newer[0];
  EXPECT_FALSE(decode(newer)) << "what a newer tallyd wrote";
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_BYTES_HOSTILE_BYTES_H_

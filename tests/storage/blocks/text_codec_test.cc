// Text of a column block: it comes back, and what is read never takes more than it may.
#include <gtest/gtest.h>
#include <zstd.h>

#include <random>

#include "storage/blocks/column_codec.h"

namespace tallyd {
namespace {

std::string Encode(std::string_view text) {
  std::string bytes;
  AppendText(text, &bytes);
  return bytes;
}

TEST(TextCodecTest, TextOfAnyLengthComesBackAndTheReaderStandsBehindIt) {
  std::mt19937_64 random(1);
  for (size_t size : {0u, 1u, 47u, 48u, 49u, 1000u, 200'000u}) {
    for (const uint64_t letters : {1, 2, 256}) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random() % letters);
      const std::string bytes = Encode(text) + "more";
      ByteReader in(bytes);
      std::string read = "before";
      ASSERT_TRUE(ReadText(&in, &read));
      EXPECT_EQ(read, text);
      EXPECT_EQ(in.rest(), "more");
    }
  }
}

TEST(TextCodecTest, OnlyWhatGetsShorterIsCompressed) {
  EXPECT_LT(Encode(std::string(10'000, 'x')).size(), 50u);
  std::mt19937_64 random(2);
  std::string noise(10'000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  EXPECT_LT(Encode(noise).size(), noise.size() + 8);
}

TEST(TextCodecDamageTest, EveryTruncationIsMalformed) {
  for (const std::string& text : {std::string("short"), std::string(5000, 'x')}) {
    const std::string bytes = Encode(text);
    std::string read;
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in(std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(ReadText(&in, &read)) << size;
    }
  }
}

TEST(TextCodecDamageTest, AnotherSizeThanTheFramesIsMalformed) {
  std::string frame(100, '\0');
  const std::string text(5000, 'x');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 1));
  for (const uint64_t size : {uint64_t{4999}, uint64_t{5001}, ~uint64_t{0}}) {
    std::string bytes;
    PutVarint(&bytes, size);
    PutString(&bytes, frame);
    ByteReader in(bytes);
    std::string read;
    EXPECT_FALSE(ReadText(&in, &read)) << size;
  }
}

// A frame's own word for its size is not to be trusted either.
TEST(TextCodecDamageTest, AFewBytesThatPromiseAGigabyteAllocateNothing) {
  // Magic; a single segment with eight bytes of size; 1 GiB; a last, raw block of no bytes.
  std::string frame("\x28\xb5\x2f\xfd\xe0\0\0\0\x40\0\0\0\0\x01\0\0", 16);
  ASSERT_EQ(ZSTD_getFrameContentSize(frame.data(), frame.size()), kMaxTextBytes);
  std::string bytes;
  PutVarint(&bytes, kMaxTextBytes);
  PutString(&bytes, frame);
  ByteReader in(bytes);
  std::string read;
  EXPECT_FALSE(ReadText(&in, &read));
  EXPECT_LT(read.capacity(), size_t{1} << 20);
}

TEST(TextCodecDamageTest, DamagedBytesAreErrorsOrTextButNeverACrash) {
  std::mt19937_64 random(3);
  std::string read;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = Encode(std::string(random() % 3000, static_cast<char>(random())));
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    ByteReader in(bytes);
    if (ReadText(&in, &read)) {
      ASSERT_LE(read.size(), kMaxTextBytes);
    }
  }
}

}  // namespace
}  // namespace tallyd

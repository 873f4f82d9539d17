#include "ingest/decode/decompress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <random>

namespace tallyd {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMax = 32u << 20;
constexpr int kGzip = MAX_WBITS + 16;
constexpr int kZlib = MAX_WBITS;
constexpr int kRaw = -MAX_WBITS;

std::string Deflate(std::string_view text, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string Snappy(std::string_view text) {
  std::string out;
  snappy::Compress(text.data(), text.size(), &out);
  return out;
}

std::string Compress(ContentEncoding encoding, std::string_view text) {
  switch (encoding) {
    case ContentEncoding::kIdentity:
      return std::string(text);
    case ContentEncoding::kGzip:
      return Deflate(text, kGzip);
    case ContentEncoding::kDeflate:
      return Deflate(text, kZlib);
    case ContentEncoding::kZstd:
      return Zstd(text);
    case ContentEncoding::kSnappy:
      return Snappy(text);
  }
  return {};
}

constexpr ContentEncoding kEncodings[] = {ContentEncoding::kGzip, ContentEncoding::kDeflate,
                                          ContentEncoding::kZstd, ContentEncoding::kSnappy};

// Compressible, but not beyond any limit of ratio.
std::string Text(size_t size) {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < size) text += std::to_string(random() % 1000) + ",";
  text.resize(size);
  return text;
}

TEST(DecompressTest, EveryEncodingIsUndone) {
  for (const size_t size : {0u, 1u, 1000u, 65'536u, 3'000'000u}) {
    const std::string text = Text(size);
    std::string out = "of the request before";
    for (const ContentEncoding encoding : kEncodings) {
      const Status status = Decompress(encoding, Compress(encoding, text), kMax, &out);
      ASSERT_TRUE(status) << static_cast<int>(encoding) << ": " << status.error().message();
      EXPECT_EQ(out, text);
    }
    ASSERT_TRUE(Decompress(ContentEncoding::kIdentity, text, kMax, &out));
    EXPECT_EQ(out, text);
  }
}

TEST(DecompressTest, RawDeflateIsUnderstood) {
  std::string out;
  ASSERT_TRUE(Decompress(ContentEncoding::kDeflate, Deflate("some text", kRaw), kMax, &out));
  EXPECT_EQ(out, "some text");
}

TEST(DecompressTest, MembersAndFramesFollowEachOther) {
  std::string out;
  ASSERT_TRUE(Decompress(ContentEncoding::kGzip, Deflate("one ", kGzip) + Deflate("two", kGzip),
                         kMax, &out));
  EXPECT_EQ(out, "one two");
  ASSERT_TRUE(Decompress(ContentEncoding::kZstd, Zstd("one ") + Zstd("two"), kMax, &out));
  EXPECT_EQ(out, "one two");
}

TEST(DecompressTest, TheLimitIsExact) {
  const std::string text = Text(500'000);
  std::string out;
  for (const ContentEncoding encoding : kEncodings) {
    const std::string wire = Compress(encoding, text);
    EXPECT_TRUE(Decompress(encoding, wire, text.size(), &out)) << static_cast<int>(encoding);
    const Status status = Decompress(encoding, wire, text.size() - 1, &out);
    ASSERT_FALSE(status) << static_cast<int>(encoding);
    EXPECT_EQ(status.error().code(), ErrorCode::kTooLarge);
    EXPECT_LE(out.capacity(), 2 * text.size());
  }
  EXPECT_EQ(Decompress(ContentEncoding::kIdentity, "1234", 3, &out).error().code(),
            ErrorCode::kTooLarge);
}

TEST(DecompressTest, BombsStopAtAHundredTimesTheirSize) {
  const std::string zeros(20u << 20, '\0');
  for (const ContentEncoding encoding :
       {ContentEncoding::kGzip, ContentEncoding::kDeflate, ContentEncoding::kZstd}) {
    const std::string wire = Compress(encoding, zeros);
    ASSERT_LT(wire.size() * 100, zeros.size());
    std::string out;
    const Status status = Decompress(encoding, wire, kMax, &out);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kTooLarge);
    EXPECT_THAT(status.error().message(), HasSubstr("100 times"));
    EXPECT_LE(out.capacity(), 4u << 20);
  }
}

TEST(DecompressTest, UpToAMebibyteAnyRatioIsFine) {
  const std::string zeros(1u << 20, '\0');
  for (const ContentEncoding encoding : kEncodings) {
    std::string out;
    EXPECT_TRUE(Decompress(encoding, Compress(encoding, zeros), kMax, &out));
    EXPECT_EQ(out.size(), zeros.size());
  }
}

TEST(DecompressTest, ASnappyLengthIsNotBelieved) {
  // Claims 4 GiB - 1 in five bytes.
  std::string out;
  const Status status = Decompress(ContentEncoding::kSnappy, "\xff\xff\xff\xff\x0f", kMax, &out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(Decompress(ContentEncoding::kSnappy, "\x80\x80\x40 no data", kMax, &out).error().code(),
            ErrorCode::kInvalid);
}

TEST(DecompressTest, AZstdWindowBeyondEightMebibytesIsRefused) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 24);
  const std::string text = Text(20u << 20);
  std::string wire(ZSTD_compressBound(text.size()), '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer room{wire.data(), wire.size(), 0};
  while (ZSTD_compressStream2(context, &room, &in, ZSTD_e_end) != 0) {
  }
  wire.resize(room.pos);
  ZSTD_freeCCtx(context);
  std::string out;
  const Status status = Decompress(ContentEncoding::kZstd, wire, kMax, &out);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("window"));
}

TEST(DecompressTest, EveryTruncationIsRefused) {
  const std::string text = Text(2000);
  std::string out;
  for (const ContentEncoding encoding : kEncodings) {
    const std::string wire = Compress(encoding, text);
    for (size_t size = 0; size < wire.size(); ++size) {
      const Status status = Decompress(encoding, std::string(wire, 0, size), kMax, &out);
      ASSERT_FALSE(status) << static_cast<int>(encoding) << " at " << size;
      EXPECT_EQ(status.error().code(), ErrorCode::kInvalid);
    }
  }
}

TEST(DecompressTest, TrailingBytesAreRefused) {
  std::string out;
  for (const ContentEncoding encoding : kEncodings) {
    EXPECT_FALSE(Decompress(encoding, Compress(encoding, "text") + "xx", kMax, &out));
  }
}

TEST(DecompressTest, MutatedBodiesNeverBreakTheDecoders) {
  std::mt19937 random(3);
  for (const ContentEncoding encoding : kEncodings) {
    const std::string good = Compress(encoding, Text(3000));
    for (int round = 0; round < 2000; ++round) {
      std::string wire = good;
      for (int i = 0; i < 2; ++i) wire[random() % wire.size()] = static_cast<char>(random());
      std::string out;
      (void)Decompress(encoding, wire, 1u << 20, &out).has_value();
    }
  }
}

TEST(DecompressTest, EncodingsAreNamedInAnyCase) {
  EXPECT_EQ(ParseContentEncoding("GZip"), ContentEncoding::kGzip);
  EXPECT_EQ(ParseContentEncoding("x-gzip"), ContentEncoding::kGzip);
  EXPECT_EQ(ParseContentEncoding("zstd"), ContentEncoding::kZstd);
  EXPECT_EQ(ParseContentEncoding("snappy"), ContentEncoding::kSnappy);
  EXPECT_EQ(ParseContentEncoding("deflate"), ContentEncoding::kDeflate);
  EXPECT_EQ(ParseContentEncoding(""), ContentEncoding::kIdentity);
  EXPECT_EQ(ParseContentEncoding("identity"), ContentEncoding::kIdentity);
  EXPECT_EQ(ParseContentEncoding("br"), std::nullopt);
}

}  // namespace
}  // namespace tallyd

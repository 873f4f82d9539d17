#include "api/endpoint/compress.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/decode/decompress.h"
#include "tests/api/response_header.h"

namespace tallyd {
namespace {

std::string Text(size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "server" + std::to_string(text.size()) + ",";
  return text;
}

std::string Undo(ContentEncoding encoding, std::string_view wire) {
  std::string plain;
  EXPECT_TRUE(Decompress(encoding, wire, 64u << 20, &plain));
  return plain;
}

// Gives its text in pieces.
class PiecesSource final : public AnswerSource {
 public:
  explicit PiecesSource(std::string text) : text_(std::move(text)) {}
  Result<Pulled> Pull(std::string* chunk, const Wake& /*wake*/) override {
    chunk->append(text_, at_, 1000);
    at_ += 1000;
    return MoreIf(at_ < text_.size());
  }

 private:
  std::string text_;
  size_t at_ = 0;
};

TEST(CompressTest, TheBestAcceptedEncodingIsChosen) {
  EXPECT_EQ(NegotiateEncoding(""), AcceptedEncoding::kIdentity);
  EXPECT_EQ(NegotiateEncoding("gzip, deflate, br, zstd"), AcceptedEncoding::kZstd);
  EXPECT_EQ(NegotiateEncoding("gzip;q=1.0, zstd;q=0.5"), AcceptedEncoding::kGzip);
  EXPECT_EQ(NegotiateEncoding("zstd;q=0, GZIP"), AcceptedEncoding::kGzip);
  EXPECT_EQ(NegotiateEncoding("br"), AcceptedEncoding::kIdentity);
  EXPECT_EQ(NegotiateEncoding("gzip;q=nonsense"), AcceptedEncoding::kIdentity);
  EXPECT_EQ(NegotiateEncoding("gzip ; Q=0, zstd;q=0.001"), AcceptedEncoding::kZstd);
  EXPECT_EQ(NegotiateEncoding("identity, gzip;q=0.5"), AcceptedEncoding::kIdentity);
  EXPECT_EQ(NegotiateEncoding("identity;q=0.5, gzip"), AcceptedEncoding::kGzip);
  EXPECT_EQ(NegotiateEncoding("*"), AcceptedEncoding::kZstd);
  EXPECT_EQ(NegotiateEncoding("*, zstd;q=0"), AcceptedEncoding::kGzip);
  EXPECT_EQ(NegotiateEncoding("*;q=0"), AcceptedEncoding::kIdentity);
}

TEST(CompressTest, WholeBodiesComeBackWhole) {
  for (const auto& [encoding, undo] :
       {std::pair(AcceptedEncoding::kGzip, ContentEncoding::kGzip),
        std::pair(AcceptedEncoding::kZstd, ContentEncoding::kZstd)}) {
    Response response = Response::Json(200, Text(50'000));
    const std::string plain = response.body;
    CompressResponse(encoding, &response);
    EXPECT_LT(response.body.size(), plain.size());
    EXPECT_EQ(Undo(undo, response.body), plain);
  }
}

TEST(CompressTest, StreamsComeBackWhole) {
  for (const auto& [encoding, undo] :
       {std::pair(AcceptedEncoding::kGzip, ContentEncoding::kGzip),
        std::pair(AcceptedEncoding::kZstd, ContentEncoding::kZstd)}) {
    const std::string plain = Text(300'000);
    Response response;
    response.source = std::make_unique<PiecesSource>(plain);
    PullFirstChunk(&response);
    CompressResponse(encoding, &response);
    std::string wire = response.body;
    while (true) {
      const Result<Pulled> pulled = response.source->Pull(&wire, Wake());
      ASSERT_TRUE(pulled);
      if (*pulled == Pulled::kEnd) break;
    }
    EXPECT_EQ(Undo(undo, wire), plain);
  }
}

// Gives a line, waits, and gives another at the end.
class WaitingSource final : public AnswerSource {
 public:
  Result<Pulled> Pull(std::string* chunk, const Wake& /*wake*/) override {
    if (pulls_++ == 0) chunk->append("first\n");
    if (pulls_ < 3) return Pulled::kWaits;
    chunk->append("second\n");
    return Pulled::kEnd;
  }

 private:
  int pulls_ = 0;
};

TEST(CompressTest, WhatWasGivenBeforeAWaitGoesOutBeforeIt) {
  for (const auto& [encoding, undo] :
       {std::pair(AcceptedEncoding::kGzip, ContentEncoding::kGzip),
        std::pair(AcceptedEncoding::kZstd, ContentEncoding::kZstd)}) {
    Response response;
    response.source = std::make_unique<WaitingSource>();
    PullFirstChunk(&response);
    EXPECT_EQ(response.body, "first\n");
    CompressResponse(encoding, &response);
    const size_t begun = response.body.size();
    std::string wire = response.body;
    Result<Pulled> pulled = response.source->Pull(&wire, Wake());
    ASSERT_TRUE(pulled);
    EXPECT_EQ(*pulled, Pulled::kWaits);
    EXPECT_GT(wire.size(), begun) << "what the compressor held back";
    pulled = response.source->Pull(&wire, Wake());
    ASSERT_TRUE(pulled);
    EXPECT_EQ(*pulled, Pulled::kEnd);
    EXPECT_EQ(Undo(undo, wire), "first\nsecond\n");
  }
}

TEST(CompressTest, SmallBodiesStayAsTheyAre) {
  Response response = Response::Json(200, "{}");
  CompressResponse(AcceptedEncoding::kGzip, &response);
  EXPECT_EQ(response.body, "{}\n");
  EXPECT_EQ(HeaderOf(response, "Content-Encoding"), "");
}

}  // namespace
}  // namespace tallyd

#include "api/influx/write_head.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tallyd {
namespace {

constexpr InfluxDialect kV1 = InfluxDialect::kV1;
constexpr InfluxDialect kV2 = InfluxDialect::kV2;
constexpr InfluxDialect kV3 = InfluxDialect::kV3;

struct ReadHead {
  InfluxWriteHead head;
  std::optional<Response> refusal;
};

ReadHead HeadOf(InfluxDialect dialect, const std::string& query, const std::string& encoding = "") {
  Request request;
  request.params = *Params::Parse(query);
  request.content_encoding = encoding;
  ReadHead read;
  read.head = ReadInfluxWriteHead(dialect, request, &read.refusal);
  return read;
}

LinePrecision PrecisionIn(InfluxDialect dialect, const std::string& precision) {
  const ReadHead read = HeadOf(dialect, "db=d&bucket=b&precision=" + precision);
  EXPECT_FALSE(read.refusal) << precision;
  return read.head.precision;
}

TEST(InfluxWriteHeadTest, EachDialectSpellsItsPrecisions) {
  EXPECT_EQ(PrecisionIn(kV1, ""), LinePrecision::kNanoseconds);
  EXPECT_EQ(PrecisionIn(kV1, "n"), LinePrecision::kNanoseconds);
  EXPECT_EQ(PrecisionIn(kV1, "%C2%B5"), LinePrecision::kMicroseconds);
  EXPECT_EQ(PrecisionIn(kV1, "m"), LinePrecision::kMinutes);
  EXPECT_EQ(PrecisionIn(kV1, "h"), LinePrecision::kHours);
  EXPECT_EQ(PrecisionIn(kV2, ""), LinePrecision::kNanoseconds);
  EXPECT_EQ(PrecisionIn(kV2, "us"), LinePrecision::kMicroseconds);
  EXPECT_EQ(PrecisionIn(kV3, ""), LinePrecision::kAuto);
  EXPECT_EQ(PrecisionIn(kV3, "millisecond"), LinePrecision::kMilliseconds);
  EXPECT_TRUE(HeadOf(kV2, "bucket=b&precision=m").refusal);
  EXPECT_TRUE(HeadOf(kV3, "db=d&precision=h").refusal);
}

TEST(InfluxWriteHeadTest, RefusesInTheDialectsForm) {
  const std::optional<Response> v1 = HeadOf(kV1, "precision=s").refusal;
  ASSERT_TRUE(v1);
  EXPECT_EQ(v1->status, 400u);
  EXPECT_EQ(nlohmann::json::parse(v1->body), (nlohmann::json{{"error", "database is required"}}));
  const std::optional<Response> v2 = HeadOf(kV2, "org=o").refusal;
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->status, 404u);
  EXPECT_EQ(nlohmann::json::parse(v2->body)["code"], "not found");
  EXPECT_EQ(HeadOf(kV3, "db=d", "br").refusal->status, 415u);
}

TEST(InfluxWriteHeadTest, OnlyV3MayAskForAllOrNothing) {
  EXPECT_TRUE(HeadOf(kV3, "db=d").head.accepts_partial);
  EXPECT_FALSE(HeadOf(kV3, "db=d&accept_partial=false").head.accepts_partial);
  EXPECT_TRUE(HeadOf(kV1, "db=d&accept_partial=false").head.accepts_partial);
}

}  // namespace
}  // namespace tallyd

#include "api/routes/ingest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kTables[] = R"(
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
)";

class IngestTest : public ::testing::Test {
 protected:
  Result<IngestHead> Head(const std::string& stream, const std::string& query = "",
                          const std::string& type = "", const std::string& encoding = "") {
    Request request;
    request.method = Method::kPost;
    request.arguments = {stream};
    request.params = *Params::Parse(query);
    request.content_type = type;
    request.content_encoding = encoding;
    return ReadIngestHead(request, world_.context());
  }
  ErrorCode Refusal(const Result<IngestHead>& head) {
    EXPECT_FALSE(head);
    return head ? ErrorCode::kIo : head.error().code();
  }

  ApiWorld world_{kTables};
};

TEST_F(IngestTest, AHeadTellsHowTheBodyIsToBeRead) {
  const Result<IngestHead> plain = Head("s");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->format, FindBodyFormat("application/json"));
  EXPECT_EQ(plain->encoding, ContentEncoding::kIdentity);
  EXPECT_FALSE(plain->dry_run || plain->partial);
  const Result<IngestHead> rich =
      Head("s", "dry_run&partial=1", "Application/X-NDJSON; charset=utf-8", "gzip");
  ASSERT_TRUE(rich);
  EXPECT_EQ(rich->format, FindBodyFormat("application/x-ndjson"));
  EXPECT_EQ(rich->encoding, ContentEncoding::kGzip);
  EXPECT_TRUE(rich->dry_run && rich->partial);
}

TEST_F(IngestTest, WhatIsWrongWithAHeadIsSaidWithoutABody) {
  EXPECT_EQ(Refusal(Head("none")), ErrorCode::kNotFound);
  EXPECT_EQ(Refusal(Head("s", "", "image/png")), ErrorCode::kUnsupported);
  EXPECT_EQ(Refusal(Head("s", "", "", "br")), ErrorCode::kUnsupported);
  EXPECT_EQ(Refusal(Head("s", "dry_run=x")), ErrorCode::kInvalid);
  EXPECT_EQ(Refusal(Head("s", "wet_run=1")), ErrorCode::kInvalid);
}

TEST_F(IngestTest, AStreamThatAReloadTookMeanwhileIsUnknown) {
  const Result<IngestHead> head = Head("s");
  ASSERT_TRUE(head);
  auto empty = std::make_shared<SchemaSnapshot>();
  empty->schema = std::make_shared<const Schema>();
  world_.context().set_snapshot(empty);
  IngestWorkspace workspace;
  std::string body = R"({"ts":1,"k":"a","v":1})";
  body.reserve(body.size() + kBodyPadding);
  const PreparedBatch prepared = PrepareIngest(*head, body, world_.context(), workspace);
  ASSERT_TRUE(prepared.response);
  EXPECT_EQ(prepared.response->status, 404u);
}

TEST_F(IngestTest, ARefusedBatchNamesItsEvents) {
  const Response response = world_.Post("s", R"([{"ts":1,"k":"a","v":1},{"ts":2,"v":1}])");
  EXPECT_EQ(response.status, 400u);
  const auto said = nlohmann::json::parse(response.body);
  EXPECT_EQ(said["errors"][0]["index"], 1);
  EXPECT_EQ(said["errors"][0]["field"], "k");
  EXPECT_EQ(said["error_count"], 1);
}

TEST_F(IngestTest, ADryRunStoresNothing) {
  const Response response = world_.Post("s", R"({"ts":1,"k":"a","v":1})", "dry_run=1");
  EXPECT_EQ(response.status, 200u);
  EXPECT_EQ(nlohmann::json::parse(response.body)["tables"]["ROWS"].size(), 1u);
  EXPECT_EQ(BodyOf(world_.Call(GetRows, {"ROWS"})), "{\"rows\":[],\"next\":null}");
}

TEST(HeldTest, EventsThatAreOnlyHeldAreCountedLikeOthers) {
  ApiWorld world(R"(
[tables.HITS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
flush = "1h"
)");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(world.Post("s", R"([{"k":"a","v":1},{"k":"b","v":1}])").status, 200u);
    EXPECT_EQ(world.context().metrics.events.Value(), 2 * i);
  }
}

TEST(ExpiredTest, ADryRunTellsWhatTheRequestWould) {
  ApiWorld world(R"(
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = { max_age = "1d" }
)");
  const std::string events = R"([{"ts":1,"k":"a","v":1},{"ts":)" +
                             std::to_string(world.clock().now / 1000) + R"(,"k":"a","v":1}])";
  const auto dry = nlohmann::json::parse(world.Post("s", events, "dry_run=1").body);
  EXPECT_EQ(dry["tables"]["ROWS"].size(), 1u);
  EXPECT_EQ(dry["expired"], 1);
  EXPECT_EQ(nlohmann::json::parse(world.Post("s", events).body)["expired"], dry["expired"]);
}

}  // namespace
}  // namespace tallyd

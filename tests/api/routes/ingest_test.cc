#include "api/routes/ingest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/handlers.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kIngestTables[] = R"(
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
    request.principal = Anybody();
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

  ApiWorld world_{kIngestTables};
};

TEST_F(IngestTest, TimesThatADoubleCannotTellApartAreTwo) {
  const Response posted = world_.Post("s", R"([{"k": "a", "ts": 9999999999999.998, "x": 1},
                                               {"k": "a", "ts": 9999999999999.999, "x": 2}])",
                                      "guards=off");
  ASSERT_EQ(posted.status, 200u) << posted.body;
  EXPECT_EQ(nlohmann::json::parse(posted.body)["cells"], 2) << posted.body;
}

TEST_F(IngestTest, WhatIsFinerThanAMicrosecondIsCutOffAndNotRounded) {
  const Response posted =
      world_.Post("s", R"({"k": "a", "x": 0.1234567890123456789, "ts": 1614938400000.0009})");
  ASSERT_EQ(posted.status, 200u) << posted.body;
  const Response found = world_.Call(GetRows, {"ROWS"});
  EXPECT_NE(found.body.find("\"ts\":1614938400000}"), std::string::npos) << found.body;
}

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
  world_.context().live_schema.Set(empty);
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

class GuardsTest : public ::testing::Test {
 protected:
  static constexpr TimeUs kNow = 1'700'000'000'000'000;

  // An event of this stream, whose time is as it stands there.
  Response Post(const std::string& time, const std::string& stream = "s",
                const std::string& query = "") {
    return world_.Post(stream, "{\"k\":\"a\",\"v\":1,\"ts\":" + time + "}", query);
  }
  std::string Refusal(const std::string& time, const std::string& stream = "s") {
    const Response response = Post(time, stream);
    EXPECT_EQ(response.status, 400u) << response.body;
    const auto said = nlohmann::json::parse(response.body);
    EXPECT_EQ(said["errors"][0]["field"], "ts");
    return said["errors"][0]["detail"];
  }
  std::string Rows() { return BodyOf(world_.Call(GetRows, {"ROWS"})); }

  ApiWorld world_{std::string(kIngestTables) + R"(
[ingest]
[streams.any]
min_time = "1970-01-01"
max_future = "off"
[streams.micro]
unit = "us"
max_future = "1h"
[tables.ANY]
stream = "any"
pattern = "latest"
row_key = "{k}"
families.F = {}
[tables.MICRO]
stream = "micro"
pattern = "latest"
row_key = "{k}"
families.F = {}
)"};
};

TEST_F(GuardsTest, ATimeInAnotherUnitIsRefusedWithTheUnit) {
  EXPECT_NE(Refusal("1700000000").find("if seconds are meant, it is 2023-11-14T22:13:20Z"),
            std::string::npos);
  EXPECT_NE(Refusal("1700000000").find("earlier than min_time, 1973-03-03T09:46:40Z"),
            std::string::npos);
  EXPECT_NE(Refusal("1700000000000000").find("if microseconds are meant"), std::string::npos);
  EXPECT_NE(Refusal("1700000000000000000").find("if nanoseconds are meant"), std::string::npos);
  EXPECT_NE(Refusal("1700000000000", "micro").find("if milliseconds are meant"), std::string::npos);
  EXPECT_EQ(Rows(), "{\"rows\":[],\"next\":null}");
}

TEST_F(GuardsTest, WhatIsTooFarAheadIsRefusedAndWhatIsNotIsTaken) {
  EXPECT_EQ(Post("1700172800000").status, 200u) << "two days ahead";
  EXPECT_NE(Refusal("1700172800001").find("more than max_future, 2d, after now"),
            std::string::npos);
  EXPECT_NE(Refusal("\"2100-01-01T00:00:00Z\"").find("more than max_future"), std::string::npos);
  EXPECT_NE(Refusal("1700003600000001", "micro").find("1h"), std::string::npos);
  EXPECT_EQ(Post("100000000000").status, 200u) << "min_time itself";
}

TEST_F(GuardsTest, TheyMayBeWidenedByTheStreamOrTheRequest) {
  EXPECT_EQ(Post("1", "any").status, 200u);
  EXPECT_EQ(Post("9999999999999", "any").status, 200u);
  EXPECT_EQ(Post("1", "s", "guards=off").status, 200u);
  EXPECT_EQ(Post("1", "s", "guards=on").status, 400u);
  EXPECT_EQ(Post("1", "s", "guards=none").status, 400u);
  EXPECT_EQ(Post("1", "s", "dry_run=1").status, 400u);
}

TEST_F(GuardsTest, PartialTakesTheOthers) {
  const Response response = world_.Post(
      "s", R"([{"k":"a","v":1,"ts":1},{"k":"a","v":1,"ts":1700000000000}])", "partial=1");
  EXPECT_EQ(response.status, 200u);
  const auto said = nlohmann::json::parse(response.body);
  EXPECT_EQ(said["events"], 1);
  EXPECT_EQ(said["errors"][0]["index"], 0);
}

TEST_F(GuardsTest, WhileTheClockIsBehindAnEventOfNowIsTriedAgain) {
  EXPECT_EQ(Post("1700000000000").status, 200u);
  world_.clock().now = kNow - 10 * kUsPerDay;
  EXPECT_EQ(world_.context().store.Retention().time, kNow);
  const Response response = Post("1700000000000", "s", "partial=1");
  EXPECT_EQ(response.status, 503u);
  EXPECT_NE(response.body.find("clock is behind"), std::string::npos);
  EXPECT_EQ(Post("1700172800001").status, 400u) << "by no clock";
}

TEST_F(GuardsTest, AClockThatIsWrongGivesNoTimeOfArrival) {
  for (const TimeUs now : {-kUsPerDay, TimeUs{0}, 99'999'999 * kUsPerSecond, kMaxTimeUs + 1}) {
    world_.clock().now = now;
    const Response response = world_.Post("s", R"({"k":"a","v":1})");
    EXPECT_EQ(response.status, 503u) << now;
    EXPECT_NE(response.body.find("clock is wrong"), std::string::npos);
    EXPECT_EQ(world_.Post("s", R"({"k":"a","v":1})", "dry_run=1").status, 503u);
  }
  world_.clock().now = kNow;
  EXPECT_EQ(Rows(), "{\"rows\":[],\"next\":null}");
  EXPECT_EQ(world_.Post("s", R"({"k":"a","v":1})").status, 200u);
}

TEST_F(IngestTest, EventsWithoutATimeOverwriteNoOthers) {
  const auto count = [&] {
    const auto said = nlohmann::json::parse(
        BodyOf(world_.Call(GetEvents, {"s"}, "k=a&step=36500d&agg=count&fields=v")));
    return said["rows"][0][1].get<int>();
  };
  const std::string two = R"([{"k":"a","v":1},{"k":"a","v":2}])";
  EXPECT_EQ(world_.Post("s", two).status, 200u);
  EXPECT_EQ(world_.Post("s", two).status, 200u) << "in the same microsecond";
  EXPECT_EQ(world_.Post("s", two, "dry_run=1").status, 200u);
  EXPECT_EQ(count(), 4);
  world_.Restart(kIngestTables);
  world_.clock().now -= 5;
  EXPECT_EQ(world_.Post("s", two).status, 200u) << "and after a restart, with the clock behind";
  EXPECT_EQ(count(), 6);
}

TEST_F(IngestTest, AnObjectIsNoTime) {
  for (const char* ts : {R"({"$date":"2023-11-14T22:13:20Z"})", "{}", R"({"a":null})",
                         R"({"a":{}})", "true", "[1]", "[]"}) {
    for (int i = 0; i < 3; ++i) {
      const Response response =
          world_.Post("s", std::string(R"({"k":"a","ts":)") + ts + R"(,"v":1})");
      EXPECT_EQ(response.status, 400u) << ts;
      const auto said = nlohmann::json::parse(response.body);
      EXPECT_EQ(said["errors"][0]["field"], "ts") << ts;
    }
  }
  EXPECT_EQ(world_.Post("s", R"({"k":"a","t\u0073":{},"v":1})").status, 400u);
  EXPECT_EQ(world_.Post("s", R"({"k":"a","ts":null,"v":1})").status, 200u);
  EXPECT_EQ(world_.Post("s", R"({"k":"a","tags":{},"v":1})").status, 200u);
  EXPECT_EQ(world_.Post("s", R"({"k":"a","tags":{"ts":{}},"v":1})").status, 200u);
}

TEST_F(IngestTest, AnEmptyObjectIsNoTimeThoughItWasOnceAnotherField) {
  const std::string kOther = std::string("[streams.s]\ntime = \"at\"\n") +
                             "[tables.T]\nstream = \"s\"\npattern = \"latest\"\n"
                             "row_key = \"{k}\"\nfamilies.F = {}\n";
  ApiWorld world(kOther);
  IngestWorkspace workspace;
  const auto post = [&] {
    Request request;
    request.principal = Anybody();
    request.arguments = {"s"};
    const std::string event = R"({"k":"a","x":{"ts":{}},"ts":{},"v":1})";
    std::string body = "[" + event + "," + event + "]";
    body.reserve(body.size() + kBodyPadding);
    const auto head = ReadIngestHead(request, world.context());
    return PrepareIngest(*head, body, world.context(), workspace).response.has_value();
  };
  EXPECT_FALSE(post());
  EXPECT_FALSE(post()) << "by its text alone";
  std::string changed = kOther;
  ASSERT_TRUE(world.Reload(changed.replace(changed.find("\"at\""), 4, "\"ts\"")));
  EXPECT_TRUE(post()) << "refused";
}

TEST(TimeRequiredTest, AnEventWithoutATimeIsRefused) {
  ApiWorld world(std::string("[streams.s]\ntime_required = true\n") + kIngestTables);
  const Response response = world.Post("s", R"({"k":"a","v":1})");
  EXPECT_EQ(response.status, 400u);
  EXPECT_NE(response.body.find("time_required"), std::string::npos);
  EXPECT_EQ(world.Post("s", R"({"k":"a","v":1,"ts":1})").status, 200u);
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
    const std::string metrics = world.Call(GetMetrics, {}).body;
    const std::string counted = "tallyd_events_total{stream=\"s\"} " + std::to_string(2 * i) + "\n";
    EXPECT_NE(metrics.find(counted), std::string::npos) << metrics;
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

// The same page of events in every format.
#include "api/query/answer/event_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

class EventFormatTest : public testing::Test {
 protected:
  EventFormatTest() : world_(kTables) {
    const Response response =
        world_.Post("s", R"([{"k":"a","at":1,"text":"x,\"y\"","n":1.5},{"k":"a","at":2,"on":true},
                             {"k":"a","at":3,"n":2}])");
    EXPECT_EQ(response.status, 200u) << response.body;
  }
  Response Ask(const std::string& query) {
    Response response = world_.Call(GetEvents, {"s"}, query);
    EXPECT_EQ(response.status, 200u) << response.body;
    return response;
  }
  static std::string LinkOf(const Response& response) {
    for (const auto& [name, value] : response.headers) {
      if (name == "Link") return value;
    }
    return "";
  }

  static constexpr char kTables[] = R"(
[streams.s]
time = "at"
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{at:ms}"
families.F = {}
)";
  ApiWorld world_;
};

TEST_F(EventFormatTest, JsonHasTheColumnsThatItsPageHas) {
  json page = json::parse(Ask("k=a&limit=2").body);
  EXPECT_EQ(page["columns"], json::parse(R"(["ts","k","n","on","text"])"));
  EXPECT_EQ(page["rows"], json::parse(R"([[1,"a",1.5,null,"x,\"y\""],[2,"a",null,true,null]])"));
  page = json::parse(Ask("k=a&limit=2&cursor=" + page["next"].get<std::string>()).body);
  EXPECT_EQ(page["columns"], json::parse(R"(["ts","k","n"])"));
  EXPECT_TRUE(page["next"].is_null());
}

TEST_F(EventFormatTest, ALongPageIsTheRowsOneByOne) {
  constexpr int64_t kRows = 6000;
  json events = json::array();
  json rows = json::array();
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t at = 1'735'689'600'000 + i;
    json event = {{"k", "l"}, {"at", at}, {"m", i % 2 == 0 ? -i : i * 1'000'003}};
    if (i % 3 > 0) event["n"] = -1e-300 / static_cast<double>(i);
    if (i % 500 == 7) event["text"] = std::string(static_cast<size_t>(i), 'x');
    const auto cell = [&](const char* name) { return event.contains(name) ? event[name] : json(); };
    rows.push_back({at, "l", event["m"], cell("n"), cell("text")});
    events.push_back(std::move(event));
  }
  ASSERT_EQ(world_.Post("s", events.dump()).status, 200u);
  const std::string body = Ask("k=l&limit=10000").body;
  EXPECT_GT(body.size(), 2 * kChunkBytes);
  EXPECT_EQ(json::parse(body)["rows"], rows);
}

TEST_F(EventFormatTest, LinesStreamToTheEndOrLinkToTheNextPage) {
  EXPECT_EQ(Ask("k=a&format=ndjson&fields=n").body,
            "{\"at\":1,\"k\":\"a\",\"n\":1.5}\n{\"at\":3,\"k\":\"a\",\"n\":2}\n");
  EXPECT_EQ(Ask("k=a&format=csv").body,
            "ts,k,n,on,text\r\n1,a,1.5,,\"x,\"\"y\"\"\"\r\n2,a,,true,\r\n3,a,2,,\r\n");
  const Response page = Ask("k=a&format=csv&limit=1");
  EXPECT_EQ(page.body, "ts,k,n,on,text\r\n1,a,1.5,,\"x,\"\"y\"\"\"\r\n");
  EXPECT_NE(LinkOf(page).find("rel=\"next\""), std::string::npos);
  EXPECT_EQ(LinkOf(Ask("k=a&format=csv&limit=3")), "");
}

TEST_F(EventFormatTest, CsvQuotesTextThatWouldReadAsSomethingElse) {
  ASSERT_EQ(world_
                .Post("s", R"([{"k":"b","at":1,"text":"7"},{"k":"b","at":2,"text":"true"},
                                 {"k":"b","at":3,"text":""},{"k":"b","at":4,"text":"7a"},
                                 {"k":"b","at":5,"text":7}])")
                .status,
            200u);
  EXPECT_EQ(Ask("k=b&format=csv&fields=text").body,
            "ts,k,text\r\n1,b,\"7\"\r\n2,b,\"true\"\r\n3,b,\"\"\r\n4,b,7a\r\n5,b,7\r\n");
}

TEST_F(EventFormatTest, TsvStreamsAsCsvDoesAndTellsEmptyFromAbsent) {
  ASSERT_EQ(world_
                .Post("s", R"([{"k":"b\tc","at":1,"text":"","n":1},{"k":"b\tc","at":2,"n":0.5},
                                 {"k":"b\tc","at":3,"text":"x\ny\\z"}])")
                .status,
            200u);
  const std::string head = "ts\tk\tn\ttext\n";
  const std::string lines[] = {"1\tb\\tc\t1\t\n", "2\tb\\tc\t0.5\t\\N\n",
                               "3\tb\\tc\t\\N\tx\\ny\\\\z\n"};
  EXPECT_EQ(Ask("k=b%09c&format=tsv&fields=n,text").body, head + lines[0] + lines[1] + lines[2]);
  const Response page = Ask("k=b%09c&format=tsv&fields=n,text&limit=2");
  EXPECT_EQ(page.body, head + lines[0] + lines[1]);
  EXPECT_NE(LinkOf(page).find("rel=\"next\""), std::string::npos);
  EXPECT_EQ(page.content_type, "text/tab-separated-values; charset=utf-8");
}

// Events of "m" with a hundred names each that no other event has.
std::string ManyNames(int events) {
  json many = json::array();
  for (int i = 0; i < events; ++i) {
    json event = {{"k", "m"}, {"at", i}};
    for (int n = 0; n < 100; ++n) event["x" + std::to_string(100 * i + n)] = n;
    many.push_back(std::move(event));
  }
  return many.dump();
}

TEST_F(EventFormatTest, AHeaderOfUpToAThousandColumnsHasAllThatTheTableHolds) {
  ASSERT_EQ(world_.Post("s", ManyNames(9)).status, 200u);
  const std::string body = Ask("k=a&format=csv").body;
  EXPECT_TRUE(body.starts_with("ts,k,n,on,text,x0,x1,x10,")) << body.substr(0, 100);
}

TEST_F(EventFormatTest, OfMoreColumnsAHeaderHasThoseOfTheEventsThatAreRead) {
  ASSERT_EQ(world_.Post("s", ManyNames(12)).status, 200u);
  EXPECT_EQ(Ask("k=a&format=csv").body,
            "ts,k,n,on,text\r\n1,a,1.5,,\"x,\"\"y\"\"\"\r\n2,a,,true,\r\n3,a,2,,\r\n");
  EXPECT_EQ(Ask("k=a&format=csv&from=2.0").body, "ts,k,n,on\r\n2,a,,true\r\n3,a,2,\r\n");
  EXPECT_EQ(Ask("k=a&format=csv&fields=x7,n").body, "ts,k,x7,n\r\n1,a,,1.5\r\n3,a,,2\r\n");
  EXPECT_EQ(Ask("k=none&format=csv").body, "ts,k\r\n");
  const std::string whole = Ask("scan=1&format=csv").body;
  EXPECT_EQ(std::ranges::count(whole.substr(0, whole.find('\r')), ','), 1204);
}

TEST_F(EventFormatTest, OfMoreColumnsEachPageHasItsOwn) {
  ASSERT_EQ(world_.Post("s", ManyNames(12)).status, 200u);
  const Response page = Ask("k=a&format=csv&limit=1");
  EXPECT_EQ(page.body, "ts,k,n,text\r\n1,a,1.5,\"x,\"\"y\"\"\"\r\n");
  const std::string link = LinkOf(page);
  const size_t query = link.find('?') + 1;
  const Response next = Ask(link.substr(query, link.find('>') - query));
  EXPECT_EQ(next.body, "ts,k,on\r\n2,a,true\r\n");
}

TEST_F(EventFormatTest, StepsOfMoreFieldsHaveThoseThatTheirEventsHave) {
  ASSERT_EQ(world_.Post("s", ManyNames(12)).status, 200u);
  const json steps = json::parse(Ask("k=a&step=1h&agg=sum").body);
  EXPECT_EQ(steps["columns"], json::parse(R"(["ts","n"])"));
  EXPECT_EQ(steps["rows"], json::parse(R"([[0,3.5]])"));
  EXPECT_EQ(Ask("k=a&step=1h&agg=count&format=csv").body, "ts,n,on,text\r\n0,2,1,1\r\n");
  EXPECT_EQ(Ask("k=none&step=1h&agg=sum&format=ndjson").body, "");
}

// An answer that goes on after its reader was slow sees what came meanwhile.
TEST_F(EventFormatTest, AValueForWhichTheHeaderHasNoColumnEndsTheAnswer) {
  ASSERT_EQ(world_.Post("s", ManyNames(12)).status, 200u);
  json events = json::array();
  for (int64_t at = 1; at <= 2; ++at) {
    events.push_back({{"k", "l"}, {"at", at}, {"text", std::string(kChunkBytes, 'x')}});
  }
  ASSERT_EQ(world_.Post("s", events.dump()).status, 200u);
  Request request;
  request.principal = Anybody();
  request.path = "/path";
  request.query = "k=l&format=csv";
  request.arguments = {"s"};
  request.params = *Params::Parse(request.query);
  Response response = GetEvents(request, world_.context());
  ASSERT_EQ(response.status, 200u) << response.body;
  ASSERT_NE(response.source, nullptr);
  std::string chunk;
  Result<Pulled> pulled = response.source->Pull(&chunk, Wake());
  ASSERT_TRUE(pulled && *pulled == Pulled::kMore);
  EXPECT_TRUE(chunk.starts_with("ts,k,text\r\n1,l,xxx")) << chunk.substr(0, 100);
  response.source->Release();
  ASSERT_EQ(world_.Post("s", R"({"k":"l","at":3,"late":1})").status, 200u);
  for (int pulls = 0; pulls < 3 && pulled && *pulled == Pulled::kMore; ++pulls) {
    chunk.clear();
    pulled = response.source->Pull(&chunk, Wake());
  }
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(pulled.error().message().find("'late'"), std::string::npos) << pulled.error().message();
}

TEST_F(EventFormatTest, AnErrorOfTheFirstChunkIsAnAnswerOfItsOwn) {
  class Failing final : public AnswerSource {
    Result<Pulled> Pull(std::string* /*chunk*/, const Wake& /*wake*/) override {
      return Error(ErrorCode::kCorruption, "torn");
    }
  };
  Response response;
  response.source = std::make_unique<Failing>();
  PullFirstChunk(&response);
  EXPECT_EQ(response.status, 500u);
  EXPECT_EQ(response.source, nullptr);
}

}  // namespace
}  // namespace tallyd

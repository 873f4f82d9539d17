// Fields that are kept by their compact names, asked for by any of their spellings.
#include "service/query/ask/stream_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

class SpellingsTest : public testing::Test {
 protected:
  SpellingsTest() : world_(kTables) { Post(R"([{"s":"A","ts":1,"Bid size":500,"Ask":2}])"); }
  void Post(const std::string& events) {
    const Response response = world_.Post("market", events);
    EXPECT_EQ(response.status, 200u) << response.body;
  }
  json Ask(Handler handler, const std::string& query, unsigned status = 200) {
    const Response response = world_.Call(handler, {"market"}, query);
    EXPECT_EQ(response.status, status) << query << ": " << response.body;
    return json::parse(response.body);
  }
  json Events(const std::string& query) { return Ask(GetEvents, query); }

  static constexpr char kTables[] = R"(
[tables.QUOTE]
stream = "market"
pattern = "single-timestamp"
row_key = "{s}#{ts:ms}"
columns = [{ family = "MD", names = "compact" }]
families.MD = {}

[tables.NOW]
stream = "market"
pattern = "latest"
row_key = "{s}"
columns = [{ family = "MD", names = "compact", fields = ["Bid*", "Ask"] }]
families.MD = {}
)";
  ApiWorld world_;
};

TEST_F(SpellingsTest, BothSpellingsAskAndTheOneThatWasSentComesBack) {
  for (const char* asked : {"Bid%20size", "BIDSIZE", "BID*", "Bid*"}) {
    for (const Handler handler : {GetEvents, GetLatest}) {
      const std::string fields = "s=A&fields=" + std::string(asked);
      const json answer = Ask(handler, handler == GetLatest ? fields.substr(4) : fields);
      EXPECT_EQ(answer["columns"], json::parse(R"(["ts","s","Bid size"])")) << asked;
      EXPECT_EQ(answer["rows"], json::parse(R"([[1,"A",500]])")) << asked;
    }
  }
}

TEST_F(SpellingsTest, BothFilterAndGroupAndAggregate) {
  for (const char* asked : {"Bid%20size", "BIDSIZE"}) {
    const std::string field = asked;
    EXPECT_EQ(Events("s=A&" + field + "=500")["rows"].size(), 1u) << asked;
    EXPECT_EQ(Events("s=A&" + field + "=501")["rows"].size(), 0u) << asked;
    EXPECT_EQ(Events("s=A&step=1h&agg=max&fields=" + field)["columns"],
              json::parse(R"(["ts","Bid size"])"));
    EXPECT_EQ(Events("s=A&step=1h&agg=max&fields=Ask&by=" + field)["columns"],
              json::parse(R"(["ts","Bid size","Ask"])"));
  }
}

TEST_F(SpellingsTest, TheSpellingSeenLastComesBackAndEveryOneStillAsks) {
  Post(R"([{"s":"A","ts":2,"BID SIZE":600}])");
  json answer = Events("s=A&fields=Bid%20size");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","s","BID SIZE"])"));
  EXPECT_EQ(answer["rows"], json::parse(R"([[1,"A",500],[2,"A",600]])"));
  Post(R"([{"s":"A","ts":3,"Bid size":700}])");
  for (const char* asked : {"Bid%20size", "BID%20SIZE", "BIDSIZE"}) {
    answer = Events("s=A&fields=" + std::string(asked));
    EXPECT_EQ(answer["columns"], json::parse(R"(["ts","s","Bid size"])")) << asked;
    EXPECT_EQ(answer["rows"].size(), 3u) << asked;
  }
  EXPECT_EQ(Events("s=A&step=1h&agg=max")["columns"], json::parse(R"(["ts","Ask","Bid size"])"));
  const Response csv = world_.Call(GetEvents, {"market"}, "s=A", "text/csv");
  EXPECT_EQ(csv.body.substr(0, csv.body.find('\r')), "ts,s,Ask,Bid size");
}

TEST_F(SpellingsTest, ACompactNameOfNoFieldIsUnknown) {
  Ask(GetEvents, "s=A&fields=BIDSIZES", 400);
}

}  // namespace
}  // namespace tallyd

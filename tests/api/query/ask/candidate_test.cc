// What a table can answer of a query, and what it has to read for it.
#include "service/query/ask/candidate.h"

#include <gtest/gtest.h>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class CandidateTest : public QueryTest {};

TEST_F(CandidateTest, ACountWithoutFieldsCountsWhateverCame) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1,"s":"x","ok":true)"));
  Take(EventAt(2, R"("s":"y")"));
  const json answer = Ask("host=a&step=1s&agg=count");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","n","ok","s"])"));
  EXPECT_EQ(answer["rows"], json::parse("[[0,1,1,2]]"));
}

TEST_F(CandidateTest, AnEventIsFoundByTheValueOfAFilterHoweverItIsSpelt) {
  Begin(R"(
[tables.METER]
stream = "server"
pattern = "single-timestamp"
row_key = "{meter:zero(10)}#{ts:ms}"
families.F = {}
)");
  Take(R"({"meter":987654,"ts":1,"x":0.5})");
  for (const char* query :
       {"meter=987654", "meter=0987654", "meter=0000987654&x=0.50", "meter=987654.0&x=.5"}) {
    ExpectWhole(query, "METER", 1);
  }
  EXPECT_EQ(world().Call(GetEvents, {"server"}, "meter=abc").status, 400u);
}

TEST_F(CandidateTest, ThatLacksAFilteredFieldOrAllThatIsAskedForCannotAnswer) {
  Begin(R"(
[tables.SOME]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
columns = [{ family = "F", fields = ["a", "b"] }]
families.F = {}
)" + std::string(kByDay));
  Take(EventAt(1, R"("a":1,"b":2,"c":3)"));
  for (const char* query : {"host=a&fields=c", "host=a&fields=a&c=3"}) {
    const json some = Ask(query, GetPlan)["candidates"][0];
    EXPECT_EQ(some["why_not"], "it does not hold c") << query;
    EXPECT_FALSE(some.contains("kind")) << query;
  }
  EXPECT_EQ(Ask("host=a&fields=a,c&table=SOME")["plan"]["note"], "SOME does not hold c");
}

TEST_F(CandidateTest, WhoseColumnsAreNamedForFieldsReadsOnlyThoseAskedFor) {
  Begin(kMetric);
  for (int ts = 0; ts < 100; ++ts) {
    Take(EventAt(ts, R"("a":1.25,"b":"some text","c":"another","d":2)"));
  }
  ASSERT_TRUE(world().context().store.Settle());
  const auto bytes = [&](const std::string& fields) {
    return Ask("host=a&table=METRIC" + fields, GetPlan)["candidates"][0]["estimated_bytes"]
        .get<uint64_t>();
  };
  EXPECT_LT(bytes("&fields=a"), bytes("&fields=a,b"));
  EXPECT_LT(bytes("&fields=a,b"), bytes(""));
}

}  // namespace
}  // namespace tallyd

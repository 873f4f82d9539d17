// Whether an answer says rightly that something may be missing: after reloads and restarts with
// other tables and rules, and for values that text does not tell.
#include "service/query/ask/completeness.h"

#include <gtest/gtest.h>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class HistoryTest : public QueryTest {};

TEST_F(HistoryTest, IsNotLostToATableThatJoins) {
  Begin(kMetric);
  for (int ts = 1; ts <= 4; ++ts) Take(EventAt(ts, R"("n":1)"));
  for (const bool restart : {false, true}) {
    const std::string tables = std::string(kByDay) + kMetric;
    ASSERT_TRUE(restart ? world().Restart(tables) : world().Reload(tables));
    ExpectWhole("host=a", "METRIC", 4);
    ExpectPartial("host=a&table=BY_DAY", "BY_DAY", "BY_DAY joined the stream");
  }
  Take(EventAt(10, R"("n":1)"));
  ExpectWhole("host=a", "METRIC", 5);
  ExpectWhole("host=a&from=10.0&table=BY_DAY", "BY_DAY", 1);
}

TEST_F(HistoryTest, OfAFieldWhoseRuleChangesIsSaidToBeMissing) {
  const auto rules = [](const std::string& columns) {
    return std::string(kMetric) + "columns = [" + columns + "]\n";
  };
  const std::string n = R"({ family = "F", fields = ["n"] })";
  Begin(rules(n + R"(, { family = "F", fields = ["m"] })"));
  Take(EventAt(1, R"("n":1,"m":2)"));
  int ts = 1;
  for (const char* changed :
       {R"({ family = "F", fields = ["m", "k"] })",
        R"({ family = "F", fields = ["m"], rename = { m = "z" } })",
        R"({ family = "F", fields = ["m"], name = "b", serialize = "cbor" })"}) {
    ASSERT_TRUE(world().Reload(rules(n + ", " + changed)));
    ExpectWhole("host=a&fields=n", "METRIC", static_cast<size_t>(ts));
    ExpectPartial("host=a&fields=m", "METRIC", "the rule of METRIC for m was added");
    ExpectPartial("host=a", "METRIC", "added");
    ExpectPartial("host=a&fields=n&m=2", "METRIC", "added");
    Take(EventAt(++ts, R"("n":1,"m":2)"));
    ExpectWhole("host=a&fields=m&from=" + std::to_string(ts) + ".0", "METRIC", 1);
  }
}

std::string MetricOf(const std::string& unit) {
  return "[streams.server]\nunit = \"" + unit + "\"\n[tables.METRIC]\nstream = \"server\"\n" +
         "pattern = \"single-timestamp\"\nrow_key = \"{host}#{ts:ms}\"\n" +
         "families.F = { max_versions = 1 }\n";
}

TEST_F(HistoryTest, OfVersionsWithinAMillisecondIsSaidToBeMissing) {
  Begin(MetricOf("us"));
  Take(EventAt(1000, R"("n":1)"));
  Take(EventAt(1001, R"("n":2)"));
  ExpectPartial("host=a", "METRIC", "all but the newest 1 cells");
}

TEST_F(HistoryTest, IsWholeWhereARowHasOneVersion) {
  Begin(MetricOf("ms"));
  Take(EventAt(1000, R"("n":1)"));
  Take(EventAt(1001, R"("n":2)"));
  ExpectWhole("host=a", "METRIC", 2);
}

TEST_F(HistoryTest, OfAPlainTableThatBecomesSerializedIsSaidToBeMissing) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1)"));
  ASSERT_TRUE(world().Restart(std::string(kMetric) +
                              R"(columns = [{ family = "F", name = "b", serialize = "json" }])"));
  ExpectPartial("host=a", "METRIC", "added");
  ExpectPartial("host=a&fields=host", "METRIC", "added");
}

constexpr char kBlob[] = R"(
[tables.BLOB]
stream = "server"
pattern = "single-timestamp-serialized"
row_key = "{ts:ms}#{host}"
families.F = {}
)";

TEST_F(HistoryTest, ThatASerializedCellLostToOtherFieldsComesFromAnotherTable) {
  Begin(std::string(kMetric) + kBlob);
  Take(EventAt(1, R"("cpu":1)"));
  Take(EventAt(1, R"("mem":7)"));
  ExpectWhole("from=1.0&to=2.0&scan=1", "METRIC", 1);
  ExpectPartial("table=BLOB&from=1.0&to=2.0", "BLOB", "in one cell");
  const json answer = Ask("from=1.0&to=2.0&fields=cpu&scan=1");
  EXPECT_EQ(answer["rows"].size(), 1u) << answer;
}

TEST_F(HistoryTest, OfASerializedTableWithCorrectionsAloneIsWhole) {
  Begin(kBlob);
  Take(EventAt(1, R"("cpu":1)"));
  Take(EventAt(1, R"("cpu":2)"));
  Take(EventAt(1, R"("cpu":3,"mem":7)"));
  Take(EventAt(2, R"("mem":7)"));
  ExpectWhole("from=1.0&to=3.0", "BLOB", 2);
  ASSERT_TRUE(world().context().store.Settle());
  ExpectWhole("from=1.0&to=3.0", "BLOB", 2);
}

constexpr char kByReading[] = R"(
[tables.BY_READING]
stream = "server"
pattern = "new-column"
row_key = "{field}#{ts:day}#{host}"
families.F = {}
)";

TEST_F(HistoryTest, ThatStandsBesideItsCorrectionComesFromAnotherTable) {
  Begin(std::string(kMetric) + kByReading);
  Take(EventAt(1, R"("n":1)"));
  Take(EventAt(2, R"("n":5)"));
  ExpectWhole("from=1.0&to=3.0&fields=n&table=BY_READING", "BY_READING", 2);
  Take(EventAt(1, R"("n":2)"));
  const json answer = Ask("from=1.0&to=3.0&fields=n&scan=1");
  EXPECT_EQ(answer["plan"]["table"], "METRIC");
  EXPECT_EQ(answer["rows"].size(), 2u) << answer;
  ExpectPartial("from=1.0&to=3.0&fields=n&table=BY_READING", "BY_READING", "corrections");
}

TEST_F(HistoryTest, ThatIsCoarserThanALatestKeyIsSaidToHaveMerged) {
  Begin(std::string(kMetric) + R"(
[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}#{disk}"
families.F = {}
)");
  Take(EventAt(1, R"("disk":"a","n":1)"));
  Take(EventAt(2, R"("disk":"b","n":1)"));
  Take(EventAt(1, R"("disk":"a","n":2)"));
  ExpectWhole("host=a", "METRIC", 2);
  Take(EventAt(1, R"("disk":"b","n":2)"));
  ExpectPartial("host=a", "METRIC", "lacks disk");
}

TEST_F(HistoryTest, ThatARemovedRuleHadAloneIsSaidToBeMissing) {
  const auto rules = [](const std::string& columns) {
    return std::string(kMetric) + "families.G = {}\ncolumns = [" + columns + "]\n";
  };
  const std::string all = R"({ family = "F" }, )";
  const std::string n = R"({ family = "G", fields = ["n"] })";
  const std::string both = R"({ family = "G", name = "c", value = "{n}|{x}" })";
  Begin(rules(all + n));
  Take(EventAt(1, R"("n":1,"x":2)"));
  Take(EventAt(2, R"("x":2)"));
  ASSERT_TRUE(world().Reload(rules(n)));
  ExpectWhole("host=a&fields=n", "METRIC", 1);
  ExpectPartial("host=a&fields=host", "METRIC", "a rule of METRIC was removed");
  ASSERT_TRUE(world().Reload(rules(all + n)));
  ExpectWhole("host=a&fields=host", "METRIC", 2);
  Begin(rules(all + both));
  Take(EventAt(1, R"("n":1,"x":2)"));
  Take(EventAt(2, R"("x":2)"));
  ASSERT_TRUE(world().Restart(rules(both)));
  ExpectPartial("host=a&fields=n,x", "METRIC", "the rule of METRIC for n was added");
}

TEST_F(HistoryTest, OfATableThatWasAwayIsSaidToBeMissing) {
  const std::string both = std::string(kMetric) + kByDay;
  Begin(both);
  Take(EventAt(1, R"("n":1)"));
  ASSERT_TRUE(world().Reload(kMetric));
  ASSERT_TRUE(world().Restart(both));
  ExpectWhole("host=a&table=BY_DAY", "BY_DAY", 1);
  ASSERT_TRUE(world().Reload(kMetric));
  Take(EventAt(2, R"("n":1)"));
  ASSERT_TRUE(world().Reload(both));
  ExpectPartial("host=a&table=BY_DAY", "BY_DAY", "joined");
  ExpectWhole("host=a", "METRIC", 2);
}

TEST_F(HistoryTest, ThatIsDeletedIsMissingNowhere) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1)"));
  ASSERT_TRUE(world().Reload(std::string(kMetric) + kByDay));
  ExpectPartial("host=a&table=BY_DAY", "BY_DAY", "joined");
  ASSERT_EQ(world().Call(DeleteEvents, {"server"}, "host=a").status, 200u);
  ASSERT_TRUE(world().Reload(std::string(kMetric) + kByDay));
  ExpectWhole("host=a&table=BY_DAY", "BY_DAY", 0);
}

TEST_F(HistoryTest, OfLatestValuesIsSaidToBeMissingToo) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1)"));
  ASSERT_TRUE(world().Reload(std::string(kMetric) + R"(
[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.F = {}
)"));
  const json answer = Ask("", GetLatest);
  EXPECT_EQ(answer["plan"]["complete"], false);
  EXPECT_TRUE(answer["rows"].empty());
}

// With a bucket table that keeps values in the names of columns, which are text.
class TypesTest : public HistoryTest {
 protected:
  TypesTest() {
    Begin(std::string(kMetric) + R"(
[tables.TEXT]
stream = "server"
pattern = "new-column"
row_key = "{host}#{field}#{ts:day}"
families.F = {}
)");
  }
};

TEST_F(TypesTest, AreThoseThatCameHoweverManyEventsThereAre) {
  json row;
  for (int ts = 1; ts <= 40; ++ts) {
    Take(EventAt(ts, R"("ok":true,"zip":"94103","n":5)"));
    const json answer = Ask("host=a&fields=ok,zip");
    EXPECT_EQ(answer["plan"]["table"], "METRIC");
    EXPECT_FALSE(answer["plan"].contains("complete"));
    EXPECT_EQ(answer["rows"].back(), (json{ts, "a", true, "94103"}));
  }
  EXPECT_EQ(Ask("host=a&fields=n", GetPlan)["candidates"][1].value("complete", true), true);
}

TEST_F(TypesTest, ThatATableCannotGiveBackAreSaid) {
  Take(EventAt(1, R"("ok":"yes","zip":"94103 CA","n":5)"));
  ExpectWhole("host=a&fields=ok,zip&table=TEXT", "TEXT", 1);
  Take(EventAt(2, R"("zip":"94103")"));
  ExpectWhole("host=a&fields=ok&table=TEXT", "TEXT", 1);
  ExpectPartial("host=a&fields=zip&table=TEXT", "TEXT", "TEXT keeps zip as text");
  Take(EventAt(3, R"("ok":false)"));
  ExpectPartial("host=a&fields=ok&table=TEXT", "TEXT", "TEXT keeps ok as text");
}

TEST_F(TypesTest, OfWhatIsComparedMatterToo) {
  Take(EventAt(1, R"("zip":"94103","n":5)"));
  ExpectWhole("host=a&fields=n&zip=94103&table=TEXT", "TEXT", 1);
  ExpectPartial("host=a&fields=n&where=zip>9&table=TEXT", "TEXT", "TEXT keeps zip as text");
  ExpectWhole("host=a&fields=n&where=zip>9", "METRIC", 1);
}

TEST_F(HistoryTest, OfAFieldThatOnlySomeEventsKeepTrulyIsSaidToBeText) {
  Begin(std::string(kMetric) + R"(families.G = {}
columns = [{ family = "F", fields = ["ok", "n"], value = "v={value}" },
           { family = "G", name = "{field}:{id}" }])");
  Take(EventAt(1, R"("ok":true,"id":1,"n":1,"s":"1")"));
  ExpectPartial("host=a&fields=ok", "METRIC", "METRIC keeps ok as text");
  ExpectWhole("host=a&fields=n", "METRIC", 1);
  ExpectWhole("host=a&fields=s", "METRIC", 1);
}

// The market of the example: one message, a table for quotes and one for trades, each by its own
// time.
class MarketTest : public HistoryTest {
 protected:
  MarketTest() {
    Begin(R"(
[streams.server]
time = "QT"
[tables.QUOTE]
stream = "server"
pattern = "single-timestamp"
when = ["QT"]
row_key = "{symbol}#{QT:ms}"
columns = [{ family = "F", fields = ["Bid", "Ask"] }]
families.F = {}
[tables.TRADE]
stream = "server"
pattern = "single-timestamp"
time = "TT"
when = ["TT"]
row_key = "{symbol}#{TT:ms}"
columns = [{ family = "F", fields = ["Last", "Volume"] }]
families.F = {}
)");
    Take(R"({"symbol":"A","QT":10,"Bid":1,"Ask":2,"TT":5,"Last":3,"Volume":4})");
    Take(R"({"symbol":"A","QT":20,"Bid":2,"Ask":3})");
    Take(R"({"symbol":"A","TT":15,"Last":4,"Volume":5})");
  }
};

TEST_F(MarketTest, IsWholeForWhatBelongsTogether) {
  ExpectWhole("symbol=A&fields=Bid", "QUOTE", 2);
  ExpectWhole("symbol=A&fields=Bid,Ask&from=15.0", "QUOTE", 1);
  ExpectWhole("symbol=A&fields=Last", "TRADE", 2);
  ExpectWhole("symbol=A&fields=Last,Volume&from=15.0", "TRADE", 1);
}

TEST_F(MarketTest, SaysWhatIsNotThere) {
  ExpectPartial("symbol=A", "QUOTE", "QUOTE does not hold Last, TT, Volume");
  ExpectPartial("symbol=A&fields=symbol", "QUOTE",
                "QUOTE takes only events that have QT, and symbol came without");
  ExpectPartial("symbol=A&fields=symbol&table=TRADE", "TRADE", "goes by the time in TT");
  Take(R"({"symbol":"A","Bid":3,"TT":25,"Last":4})");
  ExpectPartial("symbol=A&fields=Bid", "QUOTE", "Bid came without");
  ExpectWhole("symbol=A&fields=Ask", "QUOTE", 2);
  ExpectWhole("symbol=A&fields=Bid&Ask=3", "QUOTE", 1);
  ExpectWhole("symbol=A&fields=Last", "TRADE", 3);
}

TEST_F(HistoryTest, OfAFieldThatATemplateNeedsAnotherForIsSaidToBeMissing) {
  Begin(std::string(kMetric) +
        R"(columns = [{ family = "F", name = "c", value = "{a}|{b}" },
                      { family = "F", fields = ["n"] }])");
  Take(EventAt(1, R"("a":1,"b":2,"n":3)"));
  ExpectWhole("host=a&fields=a", "METRIC", 1);
  Take(EventAt(2, R"("a":1,"n":3)"));
  ExpectPartial("host=a&fields=a", "METRIC", "METRIC left a out of some events");
  ExpectWhole("host=a&fields=b", "METRIC", 1);
  ExpectWhole("host=a&fields=n", "METRIC", 2);
}

TEST_F(HistoryTest, OfEventsWithoutAKeyFieldThatIsAskedForIsNotMissing) {
  Begin(std::string(kMetric) + R"(
[tables.BY_ID]
stream = "server"
pattern = "single-timestamp"
when = ["id"]
row_key = "{host}#{id}#{ts:ms}"
families.F = {}
)");
  Take(EventAt(1, R"("n":1)"));
  Take(EventAt(2, R"("n":1,"id":2)"));
  ExpectWhole("host=a&fields=id&table=BY_ID", "BY_ID", 1);
  ExpectPartial("host=a&fields=host&table=BY_ID", "BY_ID", "host came without");
  ExpectPartial("host=a&fields=id,n&table=BY_ID", "BY_ID", "n came without");
}

TEST_F(HistoryTest, ThatAMembershipMissedCountsNoMoreOnceItChanged) {
  const std::string with = std::string(kMetric) + "when = [\"n\"]\n";
  Begin(with + kByDay);
  Take(EventAt(1, R"("n":1,"m":1)"));
  Take(EventAt(2, R"("m":1)"));
  ExpectPartial("host=a&fields=m&table=METRIC", "METRIC", "m came without");
  ASSERT_TRUE(world().Restart(with + kByDay));
  ExpectPartial("host=a&fields=m&table=METRIC", "METRIC", "m came without");
  ASSERT_TRUE(world().Reload(std::string(kMetric) + kByDay));
  ExpectPartial("host=a&fields=m&table=METRIC", "METRIC", "joined");
  Take(EventAt(3, R"("m":1)"));
  ExpectWhole("host=a&fields=m&from=3.0&table=METRIC", "METRIC", 1);
  ASSERT_TRUE(world().Reload(with + kByDay));
  ExpectWhole("host=a&fields=m&from=3.0&table=METRIC", "METRIC", 1);
  Take(EventAt(4, R"("m":1)"));
  ExpectPartial("host=a&fields=m&from=3.0&table=METRIC", "METRIC", "m came without");
}

// METRIC keeps all spellings of a name as one, and takes only events that have n.
class SpeltTest : public HistoryTest {
 protected:
  static std::string Compact(const std::string& table, const std::string& rule = "") {
    return table + "columns = [{ family = \"F\", names = \"compact\"" + rule + " }]\n";
  }
};

TEST_F(SpeltTest, ThatWasMissedInAnotherSpellingIsSaidToBeMissing) {
  Begin(Compact(std::string(kMetric) + "when = [\"n\"]\n") + Compact(kByDay));
  Take(EventAt(1, R"("BIDSIZE":1)"));
  Take(EventAt(2, R"("Bid size":2,"n":1)"));
  ExpectPartial("host=a&fields=Bid%20size&table=METRIC", "METRIC", "BIDSIZE came without");
  ExpectWhole("host=a&fields=Bid%20size", "BY_DAY", 2);
}

TEST_F(SpeltTest, ThatTextDoesNotTellIsSaidInEverySpelling) {
  Begin(Compact(kMetric, R"(, value = "v={value}")"));
  Take(EventAt(1, R"("BIDSIZE":true)"));
  Take(EventAt(2, R"("Bid size":2)"));
  ExpectPartial("host=a&fields=Bid%20size", "METRIC", "keeps BIDSIZE as text");
}

TEST_F(SpeltTest, InOneWayIsWholeInEveryTable) {
  Begin(Compact(kMetric) + kByDay);
  Take(EventAt(1, R"("Bid size":1)"));
  for (const char* table : {"METRIC", "BY_DAY"}) {
    for (const char* asked : {"Bid%20size", "BIDSIZE", "B*", "BIDS*"}) {
      const std::string query = "host=a&fields=" + std::string(asked) + "&table=" + table;
      ExpectWhole(query, table, 1);
      EXPECT_EQ(Ask(query)["columns"], json::parse(R"(["ts","host","Bid size"])")) << query;
    }
    ExpectWhole("host=a&BIDSIZE=1&table=" + std::string(table), table, 1);
  }
}

TEST_F(SpeltTest, InSeveralWaysIsWholeOnlyWhereItIsOneField) {
  Begin(Compact(kMetric) + kByDay);
  Take(EventAt(1, R"("Bid size":1)"));
  Take(EventAt(2, R"("bid size":2)"));
  for (const char* asked : {"&fields=Bid%20size", "&fields=BIDSIZE", "&fields=B*", ""}) {
    const std::string query = "host=a" + std::string(asked);
    ExpectWhole(query, "METRIC", 2);
    ExpectPartial(query + "&table=BY_DAY", "BY_DAY",
                  "BY_DAY keeps Bid size, bid size apart, which are one field elsewhere");
  }
  ExpectWhole("host=a&fields=host&table=BY_DAY", "BY_DAY", 2);
}

TEST_F(SpeltTest, InSeveralWaysIsAskedForByNoOtherName) {
  Begin(std::string(kMetric) + Compact(R"(
[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.F = {}
)"));
  Take(EventAt(1, R"("Bid size":1)"));
  Take(EventAt(2, R"("bid size":2)"));
  ExpectWhole("host=a&fields=Bid%20size", "METRIC", 1);
  ExpectWhole("host=a&fields=B*", "METRIC", 1);
  ExpectWhole("host=a", "METRIC", 2);
  ExpectPartial("host=a&fields=BIDSIZE", "METRIC", "METRIC keeps Bid size, bid size apart");
  ExpectPartial("host=a&BIDSIZE=1", "METRIC", "METRIC keeps Bid size, bid size apart");
}

TEST_F(SpeltTest, InWaysThatATableDoesNotHoldIsLackingThere) {
  Begin(Compact(kMetric) + kByDay + "columns = [{ family = \"F\", fields = [\"n\"] }]\n");
  Take(EventAt(1, R"("Bid size":1,"n":1)"));
  Take(EventAt(2, R"("bid size":2,"n":1)"));
  ExpectPartial("host=a&fields=n,BIDSIZE&table=BY_DAY", "BY_DAY", "BY_DAY does not hold BIDSIZE");
}

TEST_F(SpeltTest, AsAnotherTypeIsFoundByAnySpelling) {
  Begin(Compact(kMetric));
  Take(EventAt(1, R"("Bid size":"many")"));
  Take(EventAt(2, R"("BIDSIZE":5)"));
  ExpectWhole("host=a&BIDSIZE=many", "METRIC", 1);
  ExpectWhole("host=a&Bid%20size=5.0", "METRIC", 1);
}

}  // namespace
}  // namespace tallyd

// The same rows in every format.
#include "api/rows/row_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

class RowFormatTest : public testing::Test {
 protected:
  RowFormatTest() : world_(kTables) {
    const Response response = world_.Post(
        "s",
        R"([{"k":"a","ts":1,"n":1.5,"t":"x,y"},{"k":"b","ts":2,"n":2},{"k":"c","ts":3,"n":3}])");
    EXPECT_EQ(response.status, 200u) << response.body;
  }
  Response Rows(const std::string& query) {
    Response response = world_.Call(GetRows, {"T"}, query);
    EXPECT_EQ(response.status, 200u) << response.body;
    return response;
  }

  static constexpr char kTables[] = R"(
[tables.T]
stream = "s"
pattern = "new-cell"
row_key = "{k}"
families.F = {}
)";
  ApiWorld world_;
};

TEST_F(RowFormatTest, JsonIsPagesThatTellTheNext) {
  const auto page = nlohmann::json::parse(Rows("limit=2").body);
  EXPECT_EQ(page["rows"].size(), 2u);
  EXPECT_EQ(page["rows"][0]["key"], "a");
  const std::string cursor = page["next"];
  EXPECT_EQ(Rows("limit=2&cursor=" + cursor).body,
            "{\"rows\":[{\"key\":\"c\",\"cells\":{\"F\":{\"n\":[{\"value\":3,\"ts\":3}]}}}],"
            "\"next\":null}\n");
}

TEST_F(RowFormatTest, LinesRunToTheEndOrLinkToTheNextPage) {
  EXPECT_EQ(Rows("format=csv").body,
            "key,family,qualifier,ts,value\r\na,F,n,1,1.5\r\na,F,t,1,\"x,y\"\r\nb,F,n,2,2\r\n"
            "c,F,n,3,3\r\n");
  const Response page = Rows("format=ndjson&limit=1&start=b");
  EXPECT_EQ(page.body, "{\"key\":\"b\",\"cells\":{\"F\":{\"n\":[{\"value\":2,\"ts\":2}]}}}\n");
  ASSERT_EQ(page.headers.size(), 1u);
  EXPECT_EQ(page.headers[0].first, "Link");
}

TEST_F(RowFormatTest, TsvIsARecordForEachCell) {
  EXPECT_EQ(Rows("format=tsv&limit=1&prefix=a").body,
            "key\tfamily\tqualifier\tts\tvalue\na\tF\tn\t1\t1.5\na\tF\tt\t1\tx,y\n");
}

TEST_F(RowFormatTest, OneRowIsTheWholeAnswer) {
  EXPECT_EQ(world_.Call(GetRow, {"T", "b"}).body,
            "{\"key\":\"b\",\"cells\":{\"F\":{\"n\":[{\"value\":2,\"ts\":2}]}}}\n");
  EXPECT_EQ(world_.Call(GetRow, {"T", "b"}, "format=csv").body,
            "key,family,qualifier,ts,value\r\nb,F,n,2,2\r\n");
}

class AggregateRowsTest : public testing::Test {
 protected:
  static constexpr char kTables[] = R"(
[tables.T]
stream = "s"
pattern = "aggregate"
row_key = "{k}"
families.F = { aggregate = "sum" }
families.G = { aggregate = "hll" }
columns = [{ family = "F", fields = ["n"] }, { family = "G", fields = ["who"] }]
)";
  ApiWorld world_{kTables};
};

TEST_F(AggregateRowsTest, AreExactIntegersAndEstimatesAndStatesWhereAskedFor) {
  const std::string event = R"({"k":"a","ts":1,"n":9223372036854775807,"who":"x"})";
  for (int i = 0; i < 2; ++i) ASSERT_EQ(world_.Post("s", event).status, 200u);
  const std::string sum = "18446744073709551614";
  const auto rows = [&](const std::string& query) {
    return world_.Call(GetRows, {"T"}, query).body;
  };
  EXPECT_EQ(rows("format=ndjson"), R"({"key":"a","cells":{"F":{"n":[{"value":)" + sum +
                                       R"(,"ts":1}]},"G":{"who":[{"value":1,"ts":1}]}}})" + "\n");
  EXPECT_EQ(rows("format=csv"),
            "key,family,qualifier,ts,value\r\na,F,n,1," + sum + "\r\na,G,who,1,1\r\n");
  const std::string raw = rows("format=ndjson&raw=1");
  EXPECT_NE(raw.find(sum), raw.npos);
  EXPECT_NE(raw.find(R"("who":[{"value":{"base64":")"), raw.npos) << raw;
  EXPECT_EQ(rows("format=ndjson&columns=F&value=" + sum),
            R"({"key":"a","cells":{"F":{"n":[{"value":)" + sum + R"(,"ts":1}]}}})" + "\n");
  EXPECT_EQ(rows("format=ndjson&value=7"), "");
}

}  // namespace
}  // namespace tallyd

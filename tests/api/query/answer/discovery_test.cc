// What there is: streams, their fields, the values of a key's field.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kDiscoveryTables[] = R"(
[streams.meter]
time = "at"
unit = "s"
[tables.READING]
stream = "meter"
pattern = "single-timestamp"
row_key = "{meter}#{at:ms}"
families.F = {}
[tables.NOW]
stream = "meter"
pattern = "latest"
row_key = "{meter}"
families.F = {}
[tables.server]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
)";

class DiscoveryTest : public testing::Test {
 protected:
  json Ask(Handler handler, std::vector<std::string> arguments, unsigned status = 200,
           const std::string& query = "") {
    const Response response = world_.Call(handler, std::move(arguments), query);
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body);
  }

  ApiWorld world_{kDiscoveryTables};
};

TEST_F(DiscoveryTest, AStreamTellsItsTablesItsTimeAndHowManyFieldsItHas) {
  EXPECT_EQ(Ask(GetStream, {"meter"}), json::parse(R"({"name":"meter","tables":["READING","NOW"],
                                                       "time":"at","unit":"s","fields":0})"));
  ASSERT_EQ(world_.Post("meter", R"({"at":1,"meter":"m","kwh":2.5})").status, 200u);
  const size_t fields = Ask(ListFields, {"meter"})["fields"].size();
  EXPECT_GE(fields, 2u);
  EXPECT_EQ(Ask(GetStream, {"meter"})["fields"], fields);
  EXPECT_EQ(Ask(GetStream, {"server"})["fields"], 0);
}

TEST_F(DiscoveryTest, TheListHoldsEachStreamAsItTellsOfItself) {
  ASSERT_EQ(world_.Post("meter", R"({"at":1,"meter":"m","kwh":2.5})").status, 200u);
  const json list = Ask(ListStreams, {})["streams"];
  ASSERT_EQ(list.size(), 2u);
  for (const json& stream : list) EXPECT_EQ(Ask(GetStream, {stream["name"]}), stream);
}

TEST_F(DiscoveryTest, AnUnknownStreamIsToldWhichThereAre) {
  for (const Handler handler : {GetStream, ListFields, ListValues}) {
    const std::string detail = Ask(handler, {"metre"}, 404)["detail"];
    EXPECT_NE(detail.find("the streams are: meter, server"), std::string::npos) << detail;
  }
  Ask(GetStream, {"meter"}, 400, "limit=1");
}

TEST_F(DiscoveryTest, TheValuesOfAKeyFieldComeInPages) {
  ASSERT_EQ(world_
                .Post("meter", R"([{"at":1,"meter":"m1","kwh":1},{"at":2,"meter":"m2","kwh":1},
                                     {"at":3,"meter":"n1","kwh":1}])")
                .status,
            200u);
  const json page = Ask(ListValues, {"meter"}, 200, "field=meter&prefix=m&limit=1");
  EXPECT_EQ(page["values"], json::parse(R"(["m1"])"));
  const std::string cursor = page["next"];
  const json rest =
      Ask(ListValues, {"meter"}, 200, "field=meter&prefix=m&limit=1&cursor=" + cursor);
  EXPECT_EQ(rest["values"], json::parse(R"(["m2"])"));
  Ask(ListValues, {"meter"}, 422, "field=kwh");
  Ask(ListValues, {"meter"}, 400, "field=none");
}

}  // namespace
}  // namespace tallyd

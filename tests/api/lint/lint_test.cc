// GET /v1/lint: rules that need data, on data.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "service/lint/live_facts.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kLintTables[] = R"(
[streams.s.fields]
host = { domain = true }
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{id}#{ts:ms}"
families.F = {}
[tables.H]
stream = "h"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
[streams.h.fields]
host = { domain = true }
)";

class LintApiTest : public ::testing::Test, public ApiWorld {
 protected:
  LintApiTest() : ApiWorld(kLintTables) {}

  std::vector<std::string> Rules(const std::string& table) {
    std::vector<std::string> rules;
    const auto said = nlohmann::json::parse(Call(GetLint, {}).body);
    for (const auto& finding : said["findings"]) {
      if (finding["table"] == table) rules.push_back(finding["rule"]);
    }
    return rules;
  }
  bool Finds(const std::string& rule, const std::string& table = "T") {
    const auto rules = Rules(table);
    return std::count(rules.begin(), rules.end(), rule) > 0;
  }

  void PostEvents(const std::string& stream, int count, const std::function<std::string(int)>& of) {
    std::string body = "[";
    for (int i = 0; i < count; ++i) body += (i > 0 ? "," : "") + of(i);
    const Response response = Post(stream, body + "]");
    ASSERT_EQ(response.status, 200) << response.body;
  }
};

std::string Event(const std::string& members, int64_t ts) {
  return "{" + members + ",\"v\":1,\"ts\":" + std::to_string(ts) + "}";
}

constexpr int64_t kStart = 1'600'000'000'000;

TEST_F(LintApiTest, AnEmptyTableHasNoLiveFindings) { EXPECT_TRUE(Rules("T").empty()); }

TEST_F(LintApiTest, TakesNoParameter) { EXPECT_EQ(Call(GetLint, {}, "table=T").status, 400); }

TEST_F(LintApiTest, L03FindsNumbersThatCameOneAfterTheOther) {
  PostEvents("s", 200,
             [](int i) { return Event("\"id\":" + std::to_string(i + 1), kStart + i * 1000); });
  EXPECT_TRUE(Finds("L3"));
  EXPECT_TRUE(Finds("L13")) << "they have no fixed width either";
}

TEST_F(LintApiTest, L03IsSilentAboutNumbersThatAllReport) {
  PostEvents("s", 400,
             [](int i) { return Event("\"id\":" + std::to_string(i % 40), kStart + i * 1000); });
  EXPECT_FALSE(Finds("L3"));
}

TEST_F(LintApiTest, L05FindsValuesThatLookHashed) {
  PostEvents("s", 10, [](int i) {
    return Event("\"id\":\"" + std::string(31, 'a') + std::to_string(i) + "\"", kStart + i);
  });
  EXPECT_TRUE(Finds("L5"));
}

TEST_F(LintApiTest, L10CountsTheDomains) {
  PostEvents("h", 60, [](int i) {
    return Event("\"host\":\"h" + std::to_string(i % 9) + ".example.org\"", kStart + i);
  });
  EXPECT_TRUE(Finds("L10", "H"));
  PostEvents("h", 60, [](int i) {
    return Event("\"host\":\"g" + std::to_string(i) + ".example.org\"", kStart + i);
  });
  EXPECT_FALSE(Finds("L10", "H"));
  EXPECT_TRUE(Finds("L9", "H"));
}

TEST_F(LintApiTest, L23FindsALargeValue) {
  PostEvents("s", 1, [](int) {
    return Event("\"id\":\"a\",\"blob\":\"" + std::string((10u << 20) + 1, 'x') + "\"", kStart);
  });
  EXPECT_TRUE(Finds("L23"));
}

TEST_F(LintApiTest, S35GoesByTheTokensThatAreInForceWithTheSchema) {
  const std::string shared = R"(
[tables.U]
stream = "s"
pattern = "latest"
row_key = "{tenant}#{id}"
families.F = {}
)";
  ASSERT_TRUE(Reload(kLintTables + shared));
  EXPECT_FALSE(Finds("S35"));
  const std::string token = "[[auth.tokens]]\nname = \"t\"\nrole = \"read\"\nsha256 = \"" +
                            std::string(64, 'a') + "\"\nscope = { tenant = \"acme\" }\n";
  ASSERT_TRUE(Reload(kLintTables + shared + token));
  EXPECT_TRUE(Finds("S35"));
  EXPECT_FALSE(Finds("S35", "U"));
  EXPECT_FALSE(Finds("S35", "H"));
}

TEST_F(LintApiTest, StatusHasTheFindings) {
  const auto lint = nlohmann::json::parse(Call(GetStatus, {}).body)["lint"];
  EXPECT_TRUE(lint["findings"].is_array());
  EXPECT_EQ(lint["errors"], 0);
}

TEST(LookHashedTest, HexadecimalAndBase64OfTheRightLengthDo) {
  EXPECT_TRUE(LookHashed({"0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f",
                          "4a8a08f09d37b73795649038408b5f33", "8277e0910d750195b448797616e091ad",
                          "e1671797c52e15f763380b45e841ec32"}));
  EXPECT_TRUE(LookHashed(
      {"DMF1ucDxtqgxw5niaXcmYQ==", "kutf/uauL+w61xx3dTFXjw==", "SooI8J03tzeVZJA4QItfMw==",
       "gnfgkQ11AZW0SHl2FuCRrQ==", "4WcXl8UuFfdjOAtF6EHsMg=="}));
}

TEST(LookHashedTest, NamesNumbersAndFewValuesDoNot) {
  EXPECT_FALSE(LookHashed({"server1.bbb.com", "server2.bbb.com", "a.b", "c.d", "e.f"}));
  EXPECT_FALSE(LookHashed({"1000000000000000", "1000000000000001", "1000000000000002",
                           "1000000000000003", "1000000000000004"}));
  EXPECT_FALSE(LookHashed({"4c410523", "a0b41f74", "a0b81f79", "a6b81f79", "b0b81f79"}));
  EXPECT_FALSE(LookHashed({"0cc175b9c0f1b6a831c399e269772661"}));
}

}  // namespace
}  // namespace tallyd

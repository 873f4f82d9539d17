#include "api/mutations/mutations.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/text/json.h"
#include "tests/api/api_world.h"
#include "tests/api/change_row.h"

namespace tallyd {
namespace {

constexpr const char* kMutationsTables = R"(
[tables.WIDE]
stream = "wide"
pattern = "new-cell"
row_key = "{id}"
families.F = {}
[tables.TALL]
stream = "tall"
pattern = "single-timestamp"
row_key = "{id}#{ts:ms}"
families.F = {}
)";

constexpr const char* kSmall =
    R"({"set": {"family": "F", "qualifier": "q", "ts": 1425213901001, "value": 1}})";

class MutationsTest : public testing::Test {
 protected:
  Response Change(const std::string& table, const std::string& row, const std::string& list) {
    return ChangeRow(world_, table, row, list);
  }
  // The row is known to have so many bytes.
  void Measured(const std::string& row, uint64_t bytes) {
    RowBytes written(RowSampling{true, 0});
    written.Add(world_.context().store.FindTable("WIDE"), row, 1, bytes);
    sizes().Add(written);
  }
  Json Heat(const std::string& table) {
    return Json::parse(
        BodyOf(world_.Call(GetHeatmap, {}, "table=" + table + "&metric=writes&from=0")));
  }
  RowSizes& sizes() { return world_.context().row_sizes; }

  ApiWorld world_{kMutationsTables};
};

TEST_F(MutationsTest, WhatTheyWriteIsInTheHeatMapByTheStemOfTheRow) {
  ASSERT_EQ(200u, Change("TALL", "a#1425213901001", std::string(kSmall) + "," + kSmall).status);
  ASSERT_EQ(200u, Change("TALL", "a#1425213901002", kSmall).status);
  ASSERT_EQ(200u, Change("WIDE", "w", kSmall).status);
  EXPECT_EQ(R"([{"start":"a#","end":"a$"}])", Heat("TALL")["ranges"].dump());
  EXPECT_EQ("[[2]]", Heat("TALL")["values"].dump()) << "a list changes one row";
  EXPECT_EQ("[[1]]", Heat("WIDE")["values"].dump());
}

TEST_F(MutationsTest, WhatIsOnlyDeletedOrRefusedIsNoWrite) {
  ASSERT_EQ(200u, Change("WIDE", "w", R"({"delete": {}})").status);
  ASSERT_EQ(400u, Change("WIDE", "w", R"({"set": {"family": "NO"}})").status);
  EXPECT_EQ("[]", Heat("WIDE")["ranges"].dump());
}

TEST_F(MutationsTest, NoneMakesARowTooLarge) {
  Measured("w", kMaxRowBytes);
  const Response refused = Change("WIDE", "w", kSmall);
  EXPECT_EQ(400u, refused.status);
  EXPECT_NE(std::string::npos, refused.problem.find("row \"w\" of table WIDE")) << refused.problem;
  EXPECT_EQ(200u, Change("WIDE", "other", kSmall).status);
}

TEST_F(MutationsTest, ARowThatIsReplacedMayBeAsLargeAsItWas) {
  Measured("w", kMaxRowBytes);
  EXPECT_EQ(400u, Change("WIDE", "w",
                         R"({"delete": {"family": "F", "qualifier": "q"}},)" + std::string(kSmall))
                      .status);
  EXPECT_EQ(200u, Change("WIDE", "w", R"({"delete": {}},)" + std::string(kSmall)).status);
  EXPECT_TRUE(sizes().Large().empty());
}

TEST_F(MutationsTest, ARowThatWasDeletedFromCountsFromNothing) {
  Measured("w", kMaxRowBytes);
  ASSERT_EQ(200u, Change("WIDE", "w", R"({"delete": {"family": "F", "from": 0, "to": 9}})").status);
  EXPECT_TRUE(sizes().Large().empty());
  EXPECT_EQ("w", sizes().TakeToMeasure()->key) << "until it is measured";
  EXPECT_EQ(200u, Change("WIDE", "w", kSmall).status);
}

TEST_F(MutationsTest, WhatIsLargerThanRecommendedIsToldOnce) {
  Measured("w", kRecommendedRowBytes);
  const std::string value(2 * RowBytes::kSampleBytes, 'x');
  const std::string large =
      R"({"set": {"family": "F", "qualifier": "q", "ts": 1425213901001, "value": ")" + value +
      "\"}}";
  const Json answer = Json::parse(Change("WIDE", "w", large).body);
  ASSERT_EQ(1u, answer["warnings"].size()) << answer.dump();
  EXPECT_EQ(0u, answer["warnings"][0].get<std::string>().find("row w of table WIDE has about "));
  EXPECT_EQ(1, world_.context().metrics.large_rows.Value());
  EXPECT_FALSE(Json::parse(Change("WIDE", "w", large).body).contains("warnings"));
}

TEST_F(MutationsTest, ALargeValueIsToldOf) {
  const std::string value(kRecommendedValueBytes + 1, 'x');
  const Json answer = Json::parse(
      Change("WIDE", "w",
             R"({"set": {"family": "F", "qualifier": "q", "ts": 1425213901001, "value": ")" +
                 value + "\"}}")
          .body);
  EXPECT_EQ(R"(["1 of its values have more than 10485760 bytes, which a value should not"])",
            answer["warnings"].dump());
}

}  // namespace
}  // namespace tallyd

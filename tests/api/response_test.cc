#include "api/response.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tallyd {
namespace {

using nlohmann::json;

TEST(ResponseTest, AProblemTellsItsDetailToClientsAndToTheLog) {
  const Response response = Problem(409, "the table is in use", {{"more", 1}});
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.problem, "the table is in use");
  EXPECT_EQ(response.body,
            R"({"title":"Conflict","status":409,"detail":"the table is in use","more":1})"
            "\n");
}

TEST(ResponseTest, BytesThatAreNoTextBecomeReadableInADetail) {
  const Response response = Problem(400, "\xff\"a\xc3");
  EXPECT_EQ(json::parse(response.body)["detail"], R"(\xFF"a\xC3)");
  EXPECT_EQ(json::parse(Problem(400, "gr\u00fcn").body)["detail"], "gr\u00fcn");
}

TEST(ResponseTest, JsonEndsItsLine) {
  EXPECT_EQ(Response::Json(200, "{}").body, "{}\n");
  EXPECT_EQ(Response::Of(200, {{"status", "ok"}}).body, "{\"status\":\"ok\"}\n");
  EXPECT_TRUE(Problem(400, "why").body.ends_with("}\n"));
}

}  // namespace
}  // namespace tallyd

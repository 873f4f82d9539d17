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

std::string RetryAfterOf(const Response& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "Retry-After") return value;
  }
  return "";
}

TEST(ResponseTest, WhoRefusesTellsWhenToTryAgainWhereItKnows) {
  const Error full = Error(ErrorCode::kOverloaded, "full").RetryAfter(7);
  EXPECT_EQ(RetryAfterOf(ProblemOf(full)), "7");
  EXPECT_EQ(RetryAfterOf(ProblemOf(full.Prefixed("writing"))), "7");
  const Response throttled = ProblemOf(Error(ErrorCode::kThrottled, "half").RetryAfter(3));
  EXPECT_EQ(throttled.status, 429u);
  EXPECT_EQ(RetryAfterOf(throttled), "3");
  EXPECT_EQ(RetryAfterOf(ProblemOf(Error(ErrorCode::kUnavailable, "reopening"))), "1");
  EXPECT_EQ(RetryAfterOf(ProblemOf(Error(ErrorCode::kInvalid, "x"))), "");
}

TEST(ResponseTest, JsonEndsItsLine) {
  EXPECT_EQ(Response::Json(200, "{}").body, "{}\n");
  EXPECT_EQ(Response::Of(200, {{"status", "ok"}}).body, "{\"status\":\"ok\"}\n");
  EXPECT_TRUE(Problem(400, "why").body.ends_with("}\n"));
}

}  // namespace
}  // namespace tallyd

#include "api/opentsdb/opentsdb_error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tallyd {
namespace {

using Header = std::pair<std::string, std::string>;

TEST(OpentsdbError, SaysCodeMessageAndDetails) {
  const Response response = OpentsdbError(405, "Method not allowed", "The HTTP method [GET]");
  EXPECT_EQ(response.status, 405u);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            "{\"error\":{\"code\":405,\"message\":\"Method not allowed\","
            "\"details\":\"The HTTP method [GET]\"}}\n");
  EXPECT_EQ(response.problem, "Method not allowed: The HTTP method [GET]");
}

TEST(OpentsdbError, LeavesOutDetailsThatThereAreNot) {
  EXPECT_EQ(OpentsdbError(400, "no").body, "{\"error\":{\"code\":400,\"message\":\"no\"}}\n");
}

TEST(OpentsdbError, StaysJsonWhateverBytesItTellsOf) {
  const Response response = OpentsdbError(400, "\"\xff\"", "\xfe\n");
  EXPECT_EQ(response.body,
            "{\"error\":{\"code\":400,\"message\":\"\\\"\\\\xFF\\\"\","
            "\"details\":\"\\\\xFE\\n\"}}\n");
}

TEST(OpentsdbError, OfAFailureHasItsStatusAndWhenToTryAgain) {
  const Response response =
      OpentsdbErrorOf(Error(ErrorCode::kOverloaded, "the queue is full").RetryAfter(3));
  EXPECT_EQ(response.status, 503u);
  EXPECT_EQ(response.body, "{\"error\":{\"code\":503,\"message\":\"the queue is full\"}}\n");
  EXPECT_EQ(std::ranges::count(response.headers, Header("Retry-After", "3")), 1);
}

TEST(OpentsdbError, NeverIsAStatusByWhichAgentsDropWhatMayBeSentAgain) {
  const Response response = OpentsdbErrorOf(Error(ErrorCode::kThrottled, "your half is taken"));
  EXPECT_EQ(response.status, 503u);
  EXPECT_EQ(response.body, "{\"error\":{\"code\":503,\"message\":\"your half is taken\"}}\n");
  EXPECT_EQ(std::ranges::count(response.headers, Header("Retry-After", "1")), 1);
}

TEST(OpentsdbError, OfABodyThatDidNotComeInTimeSaysThatItMayBeSentAgain) {
  const Response response = InOpentsdbForm(Problem(408, "the body did not come in time"));
  EXPECT_EQ(response.status, 503u);
  EXPECT_EQ(response.body,
            "{\"error\":{\"code\":503,\"message\":\"the body did not come in time\"}}\n");
  EXPECT_EQ(std::ranges::count(response.headers, Header("Retry-After", "1")), 1);
}

TEST(OpentsdbError, KeepsTheHeadersOfWhatTheDaemonRefuses) {
  Response problem = Problem(401, "this needs a good token");
  problem.headers.emplace_back("WWW-Authenticate", "Bearer");
  const Response response = InOpentsdbForm(std::move(problem));
  EXPECT_EQ(response.status, 401u);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            "{\"error\":{\"code\":401,\"message\":\"this needs a good token\"}}\n");
  EXPECT_EQ(std::ranges::count(response.headers, Header("WWW-Authenticate", "Bearer")), 1);
}

}  // namespace
}  // namespace tallyd

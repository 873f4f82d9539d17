#include "api/routes/router.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

Match FindIt(Method method, std::string_view path) { return FindRoute(Routes(), method, path); }
std::string NearPath(std::string_view path) { return FindNearPath(Routes(), path); }
std::string NameOf(const Match& match) { return RouteNames()[match.route]; }

TEST(RouterTest, APathFindsItsRouteAndArguments) {
  const Match match = FindIt(Method::kGet, "/v1/tables/METRIC/rows/server1%231426535612045");
  EXPECT_EQ(NameOf(match), "GET /v1/tables/{table}/rows/{key}");
  EXPECT_EQ(match.arguments, (std::vector<std::string>{"METRIC", "server1#1426535612045"}));
}

TEST(RouterTest, AKeyIsDecodedOnceAndMayHoldSlashes) {
  const Match match = FindIt(Method::kGet, "/v1/tables/T/rows/a%2Fb%2523+c");
  EXPECT_EQ(match.arguments[1], "a/b%23+c");
}

TEST(RouterTest, AnotherMethodOnAKnownPathTellsWhatIsAllowed) {
  const Match match = FindIt(Method::kPost, "/v1/tables/T/rows");
  EXPECT_EQ(match.route, Routes().size());
  EXPECT_EQ(match.allow, "GET, HEAD, DELETE, OPTIONS");
}

TEST(RouterTest, UnknownPathsMatchNothing) {
  for (const char* path : {"/", "", "/v1", "/v1/tables/", "/v1/tables//rows", "/v1/tables/T/rows/",
                           "/v1/streams/s/events/x", "/healthz/", "*"}) {
    const Match match = FindIt(Method::kGet, path);
    EXPECT_EQ(match.route, Routes().size()) << path;
    EXPECT_TRUE(match.allow.empty()) << path;
  }
}

TEST(RouterTest, APathWithOneWrongPartHasANearOne) {
  EXPECT_EQ(NearPath("/v1/stream/server/events"), "/v1/streams/server/events");
  EXPECT_EQ(NearPath("/v2/streams/server/latest"), "/v1/streams/server/latest");
  EXPECT_EQ(NearPath("/v1/streams/server/lastest"), "/v1/streams/server/latest");
  EXPECT_EQ(NearPath("/v1/tables/T/rows/a%2Fb/mutation"), "/v1/tables/T/rows/a%2Fb/mutations");
  for (const char* path :
       {"/", "", "/metric", "/v2/table/T", "/v1/tables//row", "/iu/main.mjs", "*"}) {
    EXPECT_EQ(NearPath(path), "") << path;
  }
  EXPECT_EQ(NearPath("/v1/tables/" + std::string(1000, 'x') + "/row"), "");
}

TEST(RouterTest, ABrokenEscapeIsMalformed) {
  EXPECT_TRUE(FindIt(Method::kGet, "/v1/tables/T/rows/a%2").malformed);
  EXPECT_TRUE(FindIt(Method::kGet, "/v1/tables/T/rows/%zz").malformed);
}

TEST(ParamsTest, ListsTakeCommasAndRepetition) {
  const Result<Params> params = Params::Parse("fields=a,b&x=1&fields=c%2Cd&flag");
  ASSERT_TRUE(params);
  EXPECT_EQ(params->List("fields"), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_TRUE(*params->Flag("flag"));
  EXPECT_FALSE(*params->Flag("absent"));
}

TEST(ParamsTest, AnEscapedCommaStaysInItsName) {
  const Result<Params> params = Params::Parse(R"(fields=a\,b,c\d,\,,e\&fields=,,)");
  ASSERT_TRUE(params);
  EXPECT_EQ(params->List("fields"), (std::vector<std::string>{"a,b", "c\\d", ",", "e\\"}));
}

TEST(ParamsTest, WhatHasOneValueIsNotGivenTwice) {
  const Result<Params> params = Params::Parse("limit=1&fields=a&limit=1&fields=b");
  ASSERT_TRUE(params);
  EXPECT_FALSE(params->ExpectOnce("limit"));
  EXPECT_TRUE(params->ExpectOnce("absent"));
  EXPECT_FALSE(params->RefuseRepeated({"fields"}));
  EXPECT_TRUE(params->RefuseRepeated({"fields", "limit"}));
}

TEST(ParamsTest, NumbersAndFlagsOutsideTheirDomainAreRefused) {
  const Result<Params> params = Params::Parse("limit=0&n=12x&f=maybe&big=99999999999999999999");
  ASSERT_TRUE(params);
  EXPECT_FALSE(params->Number("limit", 1, 10));
  EXPECT_FALSE(params->Number("n", 1, 100));
  EXPECT_FALSE(params->Number("big", 1, 100));
  EXPECT_FALSE(params->Flag("f"));
  EXPECT_FALSE(*params->Number("absent", 1, 10));
}

TEST(ParamsTest, ABrokenEscapeIsAnError) {
  EXPECT_FALSE(Params::Parse("a=%"));
  EXPECT_FALSE(Params::Parse("a=%4"));
  EXPECT_FALSE(Params::Parse("%GG=1"));
}

}  // namespace
}  // namespace tallyd

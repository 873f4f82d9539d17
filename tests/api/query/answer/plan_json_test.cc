// What an answer says of its plan, and GET .../plan of every candidate: members and their order.
#include "api/query/answer/plan_json.h"

#include <gtest/gtest.h>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class PlanJsonTest : public QueryTest {};

TEST_F(PlanJsonTest, AnAnswerTellsTheTableTheRangesAndTheRowsRead) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1)"));
  EXPECT_EQ(BodyOf(world().Call(GetEvents, {"server"}, "host=a")),
            R"({"columns":["ts","host","n"],"rows":[[1,"a",1]],)"
            R"("plan":{"table":"METRIC","kind":"range","ranges":1,"rows_read":1},"next":null})");
}

TEST_F(PlanJsonTest, WhatMayBeLackingIsSaidBehindTheRanges) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1)"));
  ASSERT_TRUE(world().Reload(kByDay));
  Take(EventAt(2, R"("n":1)"));
  const Json plan = Json::parse(BodyOf(world().Call(GetEvents, {"server"}, "host=a")))["plan"];
  EXPECT_EQ(plan["complete"], false) << plan;
  EXPECT_EQ(std::next(plan.begin(), 4).key(), "note") << plan;
}

TEST_F(PlanJsonTest, EachCandidateTellsItsCostAndWhyItLost) {
  Begin(std::string(kMetric) + kByDay);
  Take(EventAt(1, R"("n":1)"));
  const Json plan = Json::parse(BodyOf(world().Call(GetPlan, {"server"}, "host=a")));
  const bool first_lost = plan["candidates"][0]["chosen"] == false;
  const Json lost = plan["candidates"][first_lost ? 0 : 1];
  std::vector<std::string> members;
  for (const auto& member : lost.items()) members.push_back(member.key());
  EXPECT_EQ(members, (std::vector<std::string>{"table", "kind", "ranges", "estimated_rows",
                                               "estimated_bytes", "cost", "chosen", "why_not"}))
      << plan;
  EXPECT_EQ(plan["candidates"][first_lost ? 1 : 0]["chosen"], true) << plan;
}

TEST_F(PlanJsonTest, ARefusedQueryHasAPlanThatSaysWhy) {
  Begin(kMetric);
  const Json plan = Json::parse(BodyOf(world().Call(GetPlan, {"server"}, "")));
  EXPECT_NE(plan["refused"].get<std::string>().find("would read a whole table"), std::string::npos)
      << plan;
}

}  // namespace
}  // namespace tallyd

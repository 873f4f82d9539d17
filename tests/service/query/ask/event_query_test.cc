#include "service/query/ask/event_query.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tallyd {
namespace {

// A question about a stream whose time is `ts`.
class CheckStepsTest : public ::testing::Test {
 protected:
  CheckStepsTest() {
    stream_.name = "server";
    stream_.time_field = "ts";
    query_.stream = &stream_;
  }

  std::string Complaint() const {
    const Status status = CheckSteps(query_);
    return status ? "" : status.error().message();
  }

  Stream stream_;
  EventQuery query_;
};

TEST_F(CheckStepsTest, EventsAsTheyAreNeedNothing) { EXPECT_EQ(Complaint(), ""); }

TEST_F(CheckStepsTest, WithoutAStepNothingIsAggregatedGroupedOrFilled) {
  query_.fill = Fill::kNull;
  EXPECT_EQ(Complaint(), "fill: it fills steps; add step and agg");
  query_.by = {"hostname"};
  EXPECT_EQ(Complaint(), "by: it groups steps; add step and agg, for example step=1m&agg=avg");
  query_.aggregations = {Aggregation{}};
  EXPECT_EQ(Complaint(), "agg: it needs step, for example step=1m");
}

TEST_F(CheckStepsTest, AStepNeedsAnAggregation) {
  query_.step_us = 60'000'000;
  EXPECT_TRUE(Complaint().starts_with("step: it needs agg, for example agg=avg (there are "))
      << Complaint();
}

TEST_F(CheckStepsTest, TheGreatestOfStepsAreGroupsByOneAggregation) {
  query_.step_us = 60'000'000;
  query_.aggregations = {Aggregation{}};
  query_.top = 3;
  EXPECT_EQ(Complaint(), "top: with step it keeps groups; say by what, for example by=hostname");
  query_.by = {"hostname"};
  EXPECT_EQ(Complaint(), "");
  query_.aggregations.push_back(Aggregation{});
  EXPECT_EQ(Complaint(), "top: it compares by one agg, not by several");
}

TEST_F(CheckStepsTest, NeitherStepsNorTheGreatestComeInOrderOfKeys) {
  const std::string complaint =
      "order: key is an order of events; steps and top come in order of time";
  query_.order = Order::kKey;
  EXPECT_EQ(Complaint(), "");
  query_.top = 3;
  EXPECT_EQ(Complaint(), complaint);
  query_.top = 0;
  query_.step_us = 60'000'000;
  query_.aggregations = {Aggregation{}};
  EXPECT_EQ(Complaint(), complaint);
}

}  // namespace
}  // namespace tallyd

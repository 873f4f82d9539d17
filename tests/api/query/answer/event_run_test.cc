// What a query leaves behind in the metrics when it has been answered.
#include "service/query/run/event_run.h"

#include <gtest/gtest.h>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class EventRunTest : public QueryTest {
 protected:
  ApiMetrics& metrics() { return world().context().metrics; }
};

TEST_F(EventRunTest, CountsTheRowsThatItReadAndReturned) {
  Begin(kMetric);
  for (int ts = 1; ts <= 4; ++ts) Take(EventAt(ts, R"("n":1)"));
  Ask("host=a&to=4.0");
  EXPECT_EQ(metrics().rows_read.Value(), 3);
  EXPECT_EQ(metrics().rows_returned.Value(), 3);
  Ask("host=a&to=4.0&step=1h&agg=sum");
  EXPECT_EQ(metrics().rows_read.Value(), 6);
  EXPECT_EQ(metrics().rows_returned.Value(), 4);
  EXPECT_EQ(metrics().unreadable_rows.Value(), 0);
}

TEST_F(EventRunTest, CountsAnswersThatMayLackSomething) {
  Begin(kMetric);
  Take(EventAt(1, R"("n":1)"));
  ASSERT_TRUE(world().Reload(std::string(kMetric) + kByDay));
  Ask("host=a");
  Ask("host=a&table=BY_DAY", GetPlan);
  EXPECT_EQ(metrics().incomplete.Value(), 0);
  Ask("host=a&table=BY_DAY");
  EXPECT_EQ(metrics().incomplete.Value(), 1);
  Ask("host=a&table=BY_DAY&step=1h&agg=count");
  EXPECT_EQ(metrics().incomplete.Value(), 2);
}

}  // namespace
}  // namespace tallyd

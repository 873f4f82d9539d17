#include "api/opentsdb/put_points.h"

#include <gtest/gtest.h>

#include "ingest/points/point_line.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kTsdb[] = R"(
[ingest]
min_time = "2001-01-01"
max_future = "off"

[protocols.opentsdb]
stream = "tsdb"
)";

class PutPointsTest : public ::testing::Test {
 protected:
  PutPointsTest() { points_.Begin(*FormOfStream("tsdb", world_.context()), 1000); }

  void Read(std::string_view line) { ReadPointLine(line, line, &points_); }
  PointWrite Put() {
    PointWrite put = PreparePoints(world_.principal(), "tsdb", "", &points_, &events_,
                                   world_.context());
    if (!put.error && put.write.state == EventWrite::State::kReady) {
      EXPECT_TRUE(world_.context().writer.Commit(&put.write));
    }
    return put;
  }

  ApiWorld world_{kTsdb};
  DataPoints points_;
  RequestEvents events_;
};

TEST_F(PutPointsTest, GoodOnesAreStoredAndCounted) {
  Read("cpu 1356998400 1 host=a");
  Read("mem 1356998400 2 host=a");
  Read("cpu 1356998400 3 host=b");
  const PointWrite put = Put();
  EXPECT_FALSE(put.error);
  EXPECT_EQ(put.stored, 3u);
  EXPECT_EQ(put.failed, 0u);
  EXPECT_EQ(put.write.outcome.events, 2u);
}

TEST_F(PutPointsTest, BadOnesAreToldInTheOrderInWhichTheyCame) {
  Read("cpu 1356998400 1 host=a");
  Read("cpu 5 1 host=a");
  Read("cpu 1356998400 x host=a");
  Read("mem 5 1 host=a");
  const PointWrite put = Put();
  EXPECT_EQ(put.stored, 1u);
  EXPECT_EQ(put.failed, 3u);
  ASSERT_EQ(put.errors.size(), 3u);
  EXPECT_EQ(put.errors[0].source, "cpu 5 1 host=a");
  EXPECT_EQ(put.errors[1].error, "invalid value: x");
  EXPECT_EQ(put.errors[2].source, "mem 5 1 host=a");
}

TEST_F(PutPointsTest, MoreRefusalsThanAreKeptAreCountedByThePoint) {
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    const std::string host = " host=a" + std::to_string(i);
    lines.push_back("cpu 5 1" + host);
    lines.push_back("mem 5 1" + host);
  }
  lines.push_back("cpu 1356998400 1 host=a");
  for (const std::string& line : lines) Read(line);
  const PointWrite put = Put();
  EXPECT_EQ(put.failed, 600u);
  EXPECT_EQ(put.stored, 1u);
}

TEST_F(PutPointsTest, NoneAtAllIsNothingToCommit) {
  Read("cpu");
  const PointWrite put = Put();
  EXPECT_FALSE(put.error);
  EXPECT_EQ(put.write.state, EventWrite::State::kDone);
  EXPECT_EQ(put.failed, 1u);
}

}  // namespace
}  // namespace tallyd

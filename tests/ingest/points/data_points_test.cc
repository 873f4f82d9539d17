#include "ingest/points/data_points.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "ingest/points/point_line.h"
#include "tests/ingest/points/show_points.h"

namespace tallyd {
namespace {

class DataPointsTest : public ::testing::Test {
 protected:
  DataPointsTest() { points_.Begin({}, 1u << 20); }
  // What was put stays, as a body does until its events are stored.
  void Put(std::string_view rest) {
    const std::string& line = lines_.emplace_back(rest);
    ReadPointLine(line, line, &points_);
  }
  std::string Events() { return ShowEventsOf(&points_); }

  std::deque<std::string> lines_;
  DataPoints points_;
};

TEST_F(DataPointsTest, OfEqualTagsAndTimeAreOneEvent) {
  Put("cpu 1000 1 host=a dc=x");
  Put("mem 1000 2 host=a dc=x");
  Put("cpu 1000 3 host=b dc=x");
  Put("swap 1000 4 dc=x host=a");
  Put("cpu 1001 5 host=a dc=x");
  EXPECT_EQ(Events(),
            "0{ts=int64:1000000 dc=string:x host=string:a cpu=int64:1 mem=int64:2 swap=int64:4 }\n"
            "1{ts=int64:1000000 dc=string:x host=string:b cpu=int64:3 }\n"
            "2{ts=int64:1001000 dc=string:x host=string:a cpu=int64:5 }\n");
  EXPECT_EQ(points_.seen(), 5u);
  EXPECT_EQ(points_.PointsOf(0), 3u);
}

TEST_F(DataPointsTest, OfOneMetricTheLastValueCounts) {
  Put("cpu 1 1 host=a");
  Put("mem 1 2 host=a");
  Put("cpu 1 3.5 host=a");
  EXPECT_EQ(Events(), "0{ts=int64:1000 host=string:a cpu=float64:3.5 mem=int64:2 }\n");
  EXPECT_EQ(Events(), "0{ts=int64:1000 host=string:a cpu=float64:3.5 mem=int64:2 }\n");
}

TEST_F(DataPointsTest, ThatShareAMillisecondOnlyAreSeveralEvents) {
  Put("cpu 1.0001 1 host=a");
  Put("cpu 1.0002 2 host=a");
  EXPECT_EQ(Events(),
            "0{ts=string:1970-01-01T00:00:01.000100Z host=string:a cpu=int64:1 }\n"
            "1{ts=string:1970-01-01T00:00:01.000200Z host=string:a cpu=int64:2 }\n");
}

TEST_F(DataPointsTest, TellTheTimeInTheUnitOfTheStream) {
  const auto time = [this](TimeUnit unit, std::string_view text) {
    points_.Begin({"at", unit}, 1000);
    Put(std::string("cpu ").append(text).append(" 1 a=b"));
    const std::string shown = Events();
    return shown.substr(2, shown.find(' ') - 2);
  };
  EXPECT_EQ(time(TimeUnit::kSeconds, "1"), "at=int64:1");
  EXPECT_EQ(time(TimeUnit::kSeconds, "1.5"), "at=string:1970-01-01T00:00:01.500Z");
  EXPECT_EQ(time(TimeUnit::kMicroseconds, "1.5"), "at=int64:1500000");
  EXPECT_EQ(time(TimeUnit::kNanoseconds, "1.5"), "at=int64:1500000000");
  EXPECT_EQ(time(TimeUnit::kNanoseconds, "9999999999999"),
            "at=string:2286-11-20T17:46:39.999Z");
}

TEST_F(DataPointsTest, ThatCannotBeFieldsAreRefusedByName) {
  Put("ts 1 1 host=a");
  Put("cpu 1 1 ts=a");
  Put("cpu 1 1 cpu=a");
  Put("cpu 1 1 mem=a");
  Put("mem 1 1 host=a host=b");
  const std::string longest(16'384, 'm');
  Put(longest + " 1 1 host=a");
  Put(longest + "m 1 1 host=a");
  EXPECT_EQ(ShowErrors(points_),
            "0: illegal argument: \"ts\" is the field of the time, and neither a metric nor a "
            "tag\n"
            "1: illegal argument: \"ts\" is the field of the time, and neither a metric nor a "
            "tag\n"
            "2: illegal argument: tag \"cpu\" has the name of the point's own metric\n"
            "4: illegal argument: duplicate tag: host\n"
            "6: illegal argument: \"" +
                Shown(longest) + "\": its name is longer than 16384 bytes\n");
  EXPECT_EQ(points_.refused(), 5u);
}

TEST_F(DataPointsTest, OfAnEventThatIsSplitAreEachAnEventOfItsOwn) {
  Put("cpu 1 1 host=a");
  Put("mem 1 2 host=a");
  Put("cpu 1 3 host=b");
  Put("mem 1 4 host=b");
  const size_t second = 1;
  points_.Split({&second, 1});
  EXPECT_EQ(Events(),
            "0{ts=int64:1000 host=string:a cpu=int64:1 mem=int64:2 }\n"
            "1{ts=int64:1000 host=string:b cpu=int64:3 }\n"
            "2{ts=int64:1000 host=string:b mem=int64:4 }\n");
  points_.Split({});
  EXPECT_EQ(points_.PointsOf(0), 1u);
  std::vector<PointError> errors;
  points_.AppendErrors(1, "no", &errors);
  points_.AppendErrors(3, "neither", &errors);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].index, 1u);
  EXPECT_EQ(errors[0].source, "mem 1 2 host=a");
  EXPECT_EQ(errors[1].index, 3u);
}

TEST_F(DataPointsTest, ThatBeginAnewKnowNothingOfThoseBefore) {
  Put("cpu 1 1 host=a");
  Put("cpu 1 1");
  points_.Begin({}, 1000);
  EXPECT_EQ(points_.seen(), 0u);
  Put("mem 1 1 host=a");
  EXPECT_EQ(Events(), "0{ts=int64:1000 host=string:a mem=int64:1 }\n");
  EXPECT_EQ(ShowErrors(points_), "");
}

TEST_F(DataPointsTest, ThatAreBadAreAllCountedAndSomeKept) {
  for (size_t i = 0; i < DataPoints::kMaxKeptErrors + 5; ++i) points_.Refuse("x", "no");
  EXPECT_EQ(points_.refused(), DataPoints::kMaxKeptErrors + 5);
  EXPECT_EQ(points_.errors().size(), DataPoints::kMaxKeptErrors);
}

TEST_F(DataPointsTest, WithNamesThatTakeTooMuchTogetherAreRefused) {
  points_.Begin({}, 10);
  std::vector<std::string> lines;
  for (size_t i = 0; i < 100; ++i) {
    lines.push_back(std::string(16'000, static_cast<char>('a' + i % 26)) + std::to_string(i) +
                    " 1 1 host=a" + std::to_string(i));
  }
  for (const std::string& line : lines) Put(line);
  const std::string shown = Events();
  EXPECT_NE(shown.find("the names of metrics and tags take too much together"), shown.npos);
}

}  // namespace
}  // namespace tallyd

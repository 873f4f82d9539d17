#include "api/telnet/telnet_batch.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace tallyd {
namespace {

class TelnetBatchTest : public ::testing::Test {
 protected:
  TelnetBatchTest() {
    points_.Begin({}, 1000);
    batch_.Begin(&points_, "tallyd 1");
  }
  void Take(std::string_view line) { batch_.Take({lines_.emplace_back(line), false}); }
  std::string Answers() { return batch_.Answers(points_.errors()); }

  std::deque<std::string> lines_;
  DataPoints points_;
  TelnetBatch batch_;
};

TEST_F(TelnetBatchTest, AnswersNothingToGoodPointsAndALineToBadOnes) {
  Take("put m 1 2 a=b");
  EXPECT_EQ(Answers(), "");
  Take("put m 1 x a=b");
  Take("put");
  batch_.Take({{}, true});
  EXPECT_EQ(Answers(),
            "put: invalid value: x\n"
            "put: illegal argument: not enough arguments (need least 4, got 0)\n"
            "put: illegal argument: a line is longer than 8192 bytes\n");
  EXPECT_EQ(points_.seen(), 4u);
}

TEST_F(TelnetBatchTest, SaysOfWhatKindAMistakeIsThatTheStreamFound) {
  Take("put m 1 2 a=b");
  const PointError error{0, {}, "field \"ts\": too early"};
  EXPECT_EQ(batch_.Answers({&error, 1}), "put: illegal argument: field \"ts\": too early\n");
}

TEST_F(TelnetBatchTest, AnswersInTheOrderOfTheLines) {
  Take("version");
  Take("put 1");
  Take("put m 1 2 a=b");
  Take("version");
  Take("put 1 2");
  Take("help");
  EXPECT_EQ(Answers(),
            "tallyd 1\n"
            "put: illegal argument: not enough arguments (need least 4, got 1)\n"
            "tallyd 1\n"
            "put: illegal argument: not enough arguments (need least 4, got 2)\n"
            "available commands: put version exit help\n");
}

TEST_F(TelnetBatchTest, TellsWhatItDoesNotKnow) {
  Take("PUT m 1 2 a=b");
  Take("");
  Take("  ");
  Take("\x16\x03\x01");
  Take("stats");
  EXPECT_EQ(Answers(),
            "unknown command: PUT.  Try `help'.\n"
            "unknown command.  Try `help'.\n"
            "unknown command: stats.  Try `help'.\n");
  EXPECT_FALSE(batch_.has_points());
}

TEST_F(TelnetBatchTest, EndsWithExitAndWithARequestOfHttp) {
  Take("put m 1 2 a=b");
  EXPECT_FALSE(batch_.ends());
  Take("exit");
  EXPECT_TRUE(batch_.ends());
  EXPECT_EQ(Answers(), "");
  batch_.Begin(&points_, "tallyd 1");
  Take("POST / HTTP/1.1");
  EXPECT_TRUE(batch_.ends());
  EXPECT_EQ(Answers(), "this port speaks no HTTP\n");
}

TEST_F(TelnetBatchTest, LeavesOutAnswersBeyondItsBoundsAndSaysHowMany) {
  for (int i = 0; i < 100'000; ++i) Take("x");
  const std::string answers = Answers();
  EXPECT_LT(answers.size(), 100'000u);
  EXPECT_TRUE(answers.ends_with(" more answers were left out\n"));
}

}  // namespace
}  // namespace tallyd

#include "ingest/points/point_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/ingest/padded.h"
#include "tests/ingest/points/show_points.h"

namespace tallyd {
namespace {

class PointReaderTest : public ::testing::Test {
 protected:
  // "OK", or why it is no JSON.
  std::string Read(std::string_view text) {
    body_ = std::make_unique<Padded>(text);
    points_.Begin({}, text.size());
    const Status status = reader_.Read(body_->view(), &points_);
    return status ? "OK" : status.error().message();
  }
  // The events of a body, then its errors.
  std::string Shown(std::string_view text) {
    EXPECT_EQ(Read(text), "OK") << text;
    return ShowEventsOf(&points_) + ShowErrors(points_);
  }
  // What is wrong with the point alone.
  std::string ErrorOf(const std::string& point) {
    EXPECT_EQ(Read("[" + point + "]"), "OK") << point;
    EXPECT_EQ(points_.seen(), 1u) << point;
    return points_.errors().empty() ? "none" : points_.errors().front().error;
  }

  PointReader reader_;
  std::unique_ptr<Padded> body_;
  DataPoints points_;
};

TEST_F(PointReaderTest, TakesAPointOrAnArrayOfPoints) {
  constexpr std::string_view kPoint =
      R"({"metric":"sys.cpu","timestamp":1356998400,"value":18,"tags":{"host":"web01","dc":"l"}})";
  constexpr std::string_view kEvent =
      "0{ts=int64:1356998400000 dc=string:l host=string:web01 sys.cpu=int64:18 }\n";
  EXPECT_EQ(Shown(kPoint), kEvent);
  EXPECT_EQ(Shown(" [ " + std::string(kPoint) + " ] "), kEvent);
  EXPECT_EQ(Shown("[]"), "");
  EXPECT_EQ(points_.seen(), 0u);
}

TEST_F(PointReaderTest, MakesOneEventOfPointsOfEqualTagsAndTimeHoweverTheyAreSpelled) {
  EXPECT_EQ(Shown(R"([
      {"metric":"a","timestamp":1,"value":1,"tags":{"host":"x","dc":"y"}},
      {"metric":"b","timestamp":1,"value":2.5,"tags":{"host":"x","dc":"y"}},
      {"tags":{ "dc" : "y", "h\u006fst" : "x" },"value":"3","timestamp":"1","metric":"\u0063"},
      {"metric":"d","timestamp":4294967296,"value":1,"tags":{"host":"x","dc":"y"}}])"),
            "0{ts=int64:1000 dc=string:y host=string:x a=int64:1 b=float64:2.5 c=int64:3 }\n"
            "1{ts=int64:4294967296 dc=string:y host=string:x d=int64:1 }\n");
}

TEST_F(PointReaderTest, KeepsTagsAsTextAndMakesNumbersTextOfTheirDigits) {
  EXPECT_EQ(Shown(R"({"metric":"m","timestamp":1,"value":1,
                      "tags":{"a":80,"b":1.50,"c":true,"d":"","e":"x=y,z","f":"\n\u20ac"}})"),
            "0{ts=int64:1000 a=string:80 b=string:1.50 c=string:true d=string: e=string:x=y,z "
            "f=string:\n\u20ac m=int64:1 }\n");
}

TEST_F(PointReaderTest, LooksAtNoMembersOfOtherNames) {
  EXPECT_EQ(Shown(R"({"metric":"m","x":{"y":[1,{"tags":2}]},"timestamp":1,"value":1,
                      "tags":{"a":"b"},"customValue":null})"),
            "0{ts=int64:1000 a=string:b m=int64:1 }\n");
}

TEST_F(PointReaderTest, RefusesABadPointAloneByWhatOpenTsdbSays) {
  const struct {
    const char* point;
    const char* error;
  } cases[] = {
      {R"({})", "Metric name was empty"},
      {R"({"timestamp":1,"value":1,"tags":{"a":"b"}})", "Metric name was empty"},
      {R"({"metric":"","timestamp":1,"value":1,"tags":{"a":"b"}})", "Metric name was empty"},
      {R"({"metric":null,"timestamp":1,"value":1,"tags":{"a":"b"}})", "Metric name was empty"},
      {R"({"metric":5,"timestamp":1,"value":1,"tags":{"a":"b"}})", "the metric's name is no text"},
      {R"({"metric":"m","value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":0,"value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":-1,"value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":1.5,"value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":"x","value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":null,"value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":[1],"value":1,"tags":{"a":"b"}})", "Invalid timestamp"},
      {R"({"metric":"m","timestamp":10000000000000,"value":1,"tags":{"a":"b"}})",
       "Invalid timestamp"},
      {R"({"metric":"m","timestamp":99999999999999999999,"value":1,"tags":{"a":"b"}})",
       "Invalid timestamp"},
      {R"({"metric":"m","timestamp":1,"tags":{"a":"b"}})", "Empty value"},
      {R"({"metric":"m","timestamp":1,"value":"","tags":{"a":"b"}})", "Empty value"},
      {R"({"metric":"m","timestamp":1,"value":null,"tags":{"a":"b"}})", "Empty value"},
      {R"({"metric":"m","timestamp":1,"value":1})", "Missing tags"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{}})", "Missing tags"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":null})", "Missing tags"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":"a=b"})", "Missing tags"},
      {R"({"metric":"m","timestamp":1,"value":"x","tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":"NaN","tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":true,"tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":{"a":1},"tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":9223372036854775808,"tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":"-9223372036854775809","tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":1e400,"tags":{"a":"b"}})",
       "Unable to parse value to a number"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"m":"b"}})",
       "tag \"m\" has the name of the point's own metric"},
      {R"({"metric":"ts","timestamp":1,"value":1,"tags":{"a":"b"}})",
       "\"ts\" is the field of the time, and neither a metric nor a tag"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"ts":"b"}})",
       "\"ts\" is the field of the time, and neither a metric nor a tag"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"":"b"}})", "the name of a tag is empty"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":"b","a":"b"}})", "duplicate tag: a"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":null}})",
       "tag \"a\" has no text as its value"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":{"b":"c"}}})",
       "tag \"a\" has no text as its value"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":["b"]}})",
       "tag \"a\" has no text as its value"},
      {R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":"\ud800"}})",
       "a text holds half of a surrogate pair, which is no character"},
      {R"({"metric":"m","metric":"n","timestamp":1,"value":1,"tags":{"a":"b"}})",
       "\"metric\" is given twice"},
      {R"({"metric":"m","timestamp":1,"value":1,"value":2,"tags":{"a":"b"}})",
       "\"value\" is given twice"},
  };
  for (const auto& one : cases) EXPECT_EQ(ErrorOf(one.point), one.error) << one.point;
}

TEST_F(PointReaderTest, KeepsTheGoodPointsBesideBadOnesAndTellsWhichWereSent) {
  EXPECT_EQ(Shown(R"([{"metric":"m","timestamp":1,"value":1,"tags":{"a":"b"}},
                      {"metric":"","timestamp":1},
                      {"metric":"n","timestamp":1,"value":2,"tags":{"a":"b"}}, { } ])"),
            "0{ts=int64:1000 a=string:b m=int64:1 n=int64:2 }\n"
            "1: Metric name was empty\n"
            "3: Metric name was empty\n");
  EXPECT_EQ(points_.errors()[0].source, R"({"metric":"","timestamp":1})");
  EXPECT_EQ(points_.errors()[1].source, "{ }");
}

TEST_F(PointReaderTest, TakesNothingOfWhatIsNoJson) {
  const std::string good = R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":"b"}})";
  for (const std::string& text : std::vector<std::string>{"",
                                                          " ",
                                                          "1",
                                                          "\"x\"",
                                                          "null",
                                                          "true",
                                                          "[",
                                                          "{",
                                                          "[" + good,
                                                          good + "]",
                                                          "[" + good + ",]",
                                                          "[" + good + " " + good + "]",
                                                          good + good,
                                                          good + ",",
                                                          "[1]",
                                                          "[null]",
                                                          "[[" + good + "]]",
                                                          "[" + good + ",5]",
                                                          R"({"metric":"m" "timestamp":1})",
                                                          R"({"metric"})",
                                                          R"({metric:"m"})",
                                                          R"({"metric":})",
                                                          R"({"metric":"\x"})",
                                                          R"({"x":"\x"})",
                                                          R"({"\x":1})",
                                                          R"({"metric":"m","timestamp":01})",
                                                          R"({"timestamp":nul})",
                                                          R"({"value":+1})",
                                                          R"({"value":NaN})",
                                                          R"({"value":1.})",
                                                          R"({"tags":{"a"}})",
                                                          R"({"tags":{"a":}})",
                                                          R"({"tags":{"a":"b",}})",
                                                          R"({"tags":{a:"b"}})",
                                                          R"({"tags":{"a":tru}})",
                                                          R"({"tags":{"a":"b")",
                                                          R"({"tags":{"\x":"b"}})",
                                                          "{\"metric\":\"\xff\"}",
                                                          "{\"metric\":\"a\nb\"}",
                                                          R"({"metric":"m)",
                                                          "[" + good + "]x"}) {
    const std::string outcome = Read(text);
    EXPECT_TRUE(outcome.starts_with("at byte ")) << text << ": " << outcome;
  }
}

// TALLYD_FUZZ_SECONDS has it run for longer than a moment.
TEST_F(PointReaderTest, SurvivesBodiesThatWereChangedAnywhere) {
  const std::string body = R"([{"metric":"sys.cpu","timestamp":1356998400,"value":"18.5",
      "tags":{"host":"web\u00301","dc":1.5}},{"tags":{"host":"x"},"value":1e3,"metric":"m\\n",
      "timestamp":1356998400123,"other":[{"a":null},true]},{"metric":"","tags":{}}])";
  std::mt19937 random(20261128);
  const std::string_view kBytes = "{}[]\",:\\u0123456789.-+eE tfn\n\x01\xff\xc3";
  const char* const seconds = std::getenv("TALLYD_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  for (int round = 0; round < 20'000 || std::chrono::steady_clock::now() < end; ++round) {
    std::string changed = body;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const size_t at = random() % changed.size();
      switch (random() % 4) {
        case 0:
          changed.erase(at, 1 + random() % 8);
          break;
        case 1:
          changed.insert(at, 1, kBytes[random() % kBytes.size()]);
          break;
        case 2:
          changed.insert(at, changed.substr(random() % changed.size(), random() % 40));
          break;
        default:
          changed[at] = kBytes[random() % kBytes.size()];
      }
    }
    if (Read(changed) != "OK") continue;
    EventBatch batch;
    points_.MakeEvents(ShapesOfPoints(), &batch);
    size_t of_events = 0;
    for (size_t i = 0; i < batch.size(); ++i) of_events += points_.PointsOf(i);
    ASSERT_EQ(of_events + points_.refused(), points_.seen()) << changed;
  }
}

}  // namespace
}  // namespace tallyd

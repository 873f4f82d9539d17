#include "ingest/lines/line_protocol.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "tests/ingest/padded.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

// One stream for all measurements, or one for each that `streams` names.
class LineProtocolTest : public ::testing::Test {
 protected:
  struct OfStream {
    ShapeRegistry shapes;
    LineStream stream;
  };

  void Decode(std::string_view text) {
    bodies_.emplace_back(text);
    request_.Clear();
    form_.measurement_field = streams_.empty() ? "measurement" : "";
    const LineProtocol::FindStream find = [this](std::string_view name) { return Find(name); };
    decoder_.Decode(bodies_.back().view(), form_, find, &request_);
  }
  const LineStream* Find(std::string_view measurement) {
    const std::string name(streams_.empty() ? "all" : measurement);
    if (!streams_.empty() && streams_.count(name) == 0) return nullptr;
    OfStream& of = of_streams_[name];
    of.stream.events = &request_.Of(name);
    of.stream.shapes = &of.shapes;
    of.stream.time_field = "ts";
    of.stream.unit = unit_;
    return &of.stream;
  }

  static std::string Spelled(const Event& event) {
    std::string all = fmt::format("{}{{", event.index);
    for (size_t f = 0; f < event.values.size(); ++f) {
      const Value& value = event.values[f];
      const char* quote = value.type() == ValueType::kString ? "\"" : "";
      const bool is_label = event.shape->labels && std::ranges::count(*event.shape->labels, f) > 0;
      const std::string_view digits = event.DigitsOf(f);
      all += fmt::format("{}{}{}={}{}{}", f == 0 ? "" : " ", is_label ? "@" : "", event.FieldOf(f),
                         quote, digits.empty() ? ToText(value) : std::string(digits), quote);
    }
    return all + "}";
  }
  // "0{measurement="cpu" @host="a" usage=1.0 ts=5}1{...}", labels with @.
  std::string Events(std::string_view text) {
    Decode(text);
    std::string all;
    for (const RequestEvents::Part& part : request_.parts()) {
      if (!streams_.empty()) all += part.stream + ":";
      for (size_t i = 0; i < part.events->size(); ++i) all += Spelled(part.events->event(i));
    }
    return all;
  }
  // "index[field] detail", a line each.
  std::string Errors(std::string_view text) {
    Decode(text);
    EventErrors errors = request_.errors();
    for (const RequestEvents::Part& part : request_.parts()) errors.Merge(part.events->errors());
    std::string all;
    for (const EventError& error : errors.kept()) {
      all += fmt::format("{}[{}] {}\n", error.index, error.field, error.detail);
    }
    return all;
  }

  LineProtocol decoder_;
  LineForm form_;
  TimeUnit unit_ = TimeUnit::kMilliseconds;
  std::set<std::string> streams_;
  std::map<std::string, OfStream> of_streams_;
  RequestEvents request_;
  std::deque<Padded> bodies_;
};

TEST_F(LineProtocolTest, ALineIsAnEventWithItsTagsAsLabels) {
  EXPECT_EQ(Events("cpu,host=a,core=0 usage=1.5,idle=98i 1434055562000000000\n"),
            "0{measurement=\"cpu\" @host=\"a\" @core=\"0\" usage=1.5 idle=98 ts=1434055562000}");
  EXPECT_EQ(Events("cpu usage=1"), "0{measurement=\"cpu\" usage=1.0}");
}

TEST_F(LineProtocolTest, LinesLikeOneBeforeAreReadAsTheFirstWas) {
  const std::string line = "cpu,host=a usage=1.5,note=\"all well\",up=t 1434055562000000000\n";
  const std::string second = "cpu,host=b usage=-0.25,note=\"\",up=FALSE 1434055563000000000\n";
  EXPECT_EQ(Events(line + second + line),
            "0{measurement=\"cpu\" @host=\"a\" usage=1.5 note=\"all well\" up=true "
            "ts=1434055562000}"
            "1{measurement=\"cpu\" @host=\"b\" usage=-0.25 note=\"\" up=false ts=1434055563000}"
            "2{measurement=\"cpu\" @host=\"a\" usage=1.5 note=\"all well\" up=true "
            "ts=1434055562000}");
}

TEST_F(LineProtocolTest, FieldsKeepTheTypeThatTheyAreWrittenWith) {
  const auto of = [this](const std::string& value) {
    // Twice: by the long way, and as a line that is known.
    const std::string line = "m v=" + value + "\n";
    EXPECT_EQ(Errors(line + line), "");
    const EventBatch& events = *request_.parts()[0].events;
    EXPECT_EQ(events.size(), 2u) << value;
    if (events.size() != 2) return std::string();
    const Value first = events.event(0).values[1];
    EXPECT_EQ(first, events.event(1).values[1]) << value;
    return fmt::format("{} {}", ToString(first.type()), ToText(first));
  };
  EXPECT_EQ(of("1"), "float64 1.0");
  EXPECT_EQ(of("-0"), "float64 -0.0");
  EXPECT_EQ(of("007"), "float64 7.0");
  EXPECT_EQ(of("+1.5"), "float64 1.5");
  EXPECT_EQ(of(".5"), "float64 0.5");
  EXPECT_EQ(of("5."), "float64 5.0");
  EXPECT_EQ(of("1e3"), "float64 1000.0");
  EXPECT_EQ(of("99.79959919839536"), "float64 99.79959919839536");
  EXPECT_EQ(of("12345678901234567890"), "float64 1.2345678901234567e+19");
  EXPECT_EQ(of("1e-400"), "float64 0.0");
  EXPECT_EQ(of("1i"), "int64 1");
  EXPECT_EQ(of("-9223372036854775808i"), "int64 -9223372036854775808");
  EXPECT_EQ(of("007i"), "int64 7");
  EXPECT_EQ(of("9223372036854775807u"), "int64 9223372036854775807");
  EXPECT_EQ(of("0u"), "int64 0");
  for (const char* yes : {"t", "T", "true", "True", "TRUE"}) EXPECT_EQ(of(yes), "bool true");
  for (const char* no : {"f", "F", "false", "False", "FALSE"}) EXPECT_EQ(of(no), "bool false");
  EXPECT_EQ(of("\"1\""), "string 1");
  EXPECT_EQ(of("\"\""), "string ");
  EXPECT_EQ(of("\"a\nb, c=d \xC3\xA9\""), "string a\nb, c=d \xC3\xA9");
}

TEST_F(LineProtocolTest, EscapesStandForWhatIsBehindThem) {
  const std::string line = R"(a\,b\ c\=d,t\,\=\ x=v\,\=\ \y f\,\=\ z="q\"\\\n" 1000000)";
  const std::string event =
      R"({measurement="a,b c\=d" @t,= x="v,= \y" f,= z="q"\\n" ts=1})";
  EXPECT_EQ(Errors(line + "\n" + line), "");
  EXPECT_EQ(Events(line + "\n" + line), "0" + event + "1" + event);
}

TEST_F(LineProtocolTest, TimesAreOfTheirPrecision) {
  const auto of = [this](LinePrecision precision, const std::string& time) {
    form_.precision = precision;
    const std::string events = Events("m v=1i " + time + "\nm v=1i " + time + "\n");
    const size_t at = events.rfind("ts=");
    return at == events.npos ? "none" : events.substr(at + 3, events.size() - at - 4);
  };
  EXPECT_EQ(of(LinePrecision::kNanoseconds, "1434055562123456789"), "1434055562123.456");
  EXPECT_EQ(of(LinePrecision::kNanoseconds, "1434055562123000000"), "1434055562123");
  EXPECT_EQ(of(LinePrecision::kMicroseconds, "1434055562123456"), "1434055562123.456");
  EXPECT_EQ(of(LinePrecision::kMilliseconds, "1434055562123"), "1434055562123");
  EXPECT_EQ(of(LinePrecision::kSeconds, "1434055562"), "1434055562000");
  EXPECT_EQ(of(LinePrecision::kMinutes, "23900926"), "1434055560000");
  EXPECT_EQ(of(LinePrecision::kHours, "398348"), "1434052800000");
  EXPECT_EQ(of(LinePrecision::kAuto, "1434055562"), "1434055562000");
  EXPECT_EQ(of(LinePrecision::kAuto, "1434055562123"), "1434055562123");
  EXPECT_EQ(of(LinePrecision::kAuto, "1434055562123456"), "1434055562123.456");
  EXPECT_EQ(of(LinePrecision::kAuto, "1434055562123456789"), "1434055562123.456");
  unit_ = TimeUnit::kSeconds;
  EXPECT_EQ(of(LinePrecision::kNanoseconds, "1434055562500000000"), "1434055562.5");
  unit_ = TimeUnit::kNanoseconds;
  EXPECT_EQ(of(LinePrecision::kNanoseconds, "1434055562123456789"), "1434055562123456000");
}

TEST_F(LineProtocolTest, BlankLinesAndCommentsAreNoEvents) {
  EXPECT_EQ(Events("\n# m v=1\n  \r\n\t m v=1i \r\n#\nm v=2i\n\n"),
            "0{measurement=\"m\" v=1}1{measurement=\"m\" v=2}");
  EXPECT_EQ(Events(""), "");
  EXPECT_EQ(Events("\xEF\xBB\xBFm v=1i"), "0{measurement=\"m\" v=1}");
}

struct BadLine {
  const char* line;
  const char* error;  // With its field in front.
  bool malformed = true;
};

constexpr BadLine kBadLines[] = {
    {"m", "[] missing fields"},
    {"m ", "[] missing fields"},
    {"m,host=a", "[] missing fields"},
    {",host=a v=1", "[] missing measurement"},
    {"m, v=1", "[] missing tag key"},
    {"m,=a v=1", "[] missing tag key"},
    {"m,host v=1", "[host] \"host\": missing tag value"},
    {"m,host= v=1", "[] missing tag value"},
    {"m,host=,b=c v=1", "[] missing tag value"},
    {"m,host=a=b v=1", "[] invalid tag format"},
    {"m =1", "[] missing field key"},
    {"m v", "[v] \"v\": missing field value"},
    {"m v=", "[v] \"v\": missing field value"},
    {"m v=1,", "[] missing field key"},
    {"m v=1,w", "[w] \"w\": missing field value"},
    {"m v=1x", "[v] \"v\": '1x' is no number, boolean, or string in quotes"},
    {"m v=tru", "[v] \"v\": 'tru' is no number, boolean, or string in quotes"},
    {"m v=NaN", "[v] \"v\": 'NaN' is no number, boolean, or string in quotes"},
    {"m v=0x10", "[v] \"v\": '0x10' is no number, boolean, or string in quotes"},
    {"m v=-", "[v] \"v\": '-' is no number, boolean, or string in quotes"},
    {"m v=1e", "[v] \"v\": '1e' is no number, boolean, or string in quotes"},
    {"m v=1.5i", "[v] \"v\": '1.5i' is no number, boolean, or string in quotes"},
    {"m v=-1u", "[v] \"v\": '-1u' is no number, boolean, or string in quotes"},
    {"m v=\"a\"b", "[v] \"v\": more than its value follows a closing quote"},
    {"m v=1 x", "[] bad timestamp 'x'"},
    {"m v=1 1.5", "[] bad timestamp '1.5'"},
    {"m v=1 99999999999999999999", "[] bad timestamp '99999999999999999999'"},
    {"m v=1 1 2", "[] more follows its time"},
    {"m v=\"\xFF\"", "[] its text is no UTF-8"},
    {"m,host=\xFF v=1", "[] its text is no UTF-8"},
    {"m v=1 -1", "[] its time -1 is before 1970 or beyond 2286 in this precision", false},
    {"m v=9223372036854775808i",
     "[v] \"v\": integer 9223372036854775808i does not fit into 64 bits", false},
    {"m v=9223372036854775808u",
     "[v] \"v\": unsigned integer 9223372036854775808u is beyond 9223372036854775807, the greatest "
     "that is stored",
     false},
    {"m v=1e400", "[v] \"v\": number 1e400 is beyond the range of float64", false},
    {"m,a=b,a=c v=1", "[a] \"a\": tags and fields of one line have this name twice", false},
    {"m,a=b a=1", "[a] \"a\": tags and fields of one line have this name twice", false},
    {"m v=1,v=2", "[v] \"v\": tags and fields of one line have this name twice", false},
    {"m measurement=1",
     "[measurement] \"measurement\": it is the name of the field that holds the measurement's name",
     false},
    {"m,measurement=a v=1",
     "[measurement] \"measurement\": it is the name of the field that holds the measurement's name",
     false},
    {"m ts=1", "[ts] \"ts\": it is the name of the field that holds the time", false},
    {"m,ts=1 v=1", "[ts] \"ts\": it is the name of the field that holds the time", false},
};

TEST_F(LineProtocolTest, ABadLineIsToldByWhatIsWrongAndLeavesTheOthers) {
  for (const BadLine& bad : kBadLines) {
    const std::string good = "m,host=a v=1i,w=\"x\" 1000000\n";
    const std::string body = good + bad.line + "\n" + good;
    EXPECT_EQ(Errors(body), fmt::format("1{}\n", bad.error)) << bad.line;
    EXPECT_EQ(decoder_.malformed(), bad.malformed ? 1u : 0u) << bad.line;
    EXPECT_EQ(request_.parts()[0].events->size(), 2u) << bad.line;
    EXPECT_EQ(request_.seen(), 3u) << bad.line;
  }
}

TEST_F(LineProtocolTest, AQuoteThatNeverClosesTakesTheRestWithIt) {
  EXPECT_EQ(Errors("m v=1\nm v=\"a\nm v=1\n"),
            "1[v] \"v\": unbalanced quotes: none closes the string\n");
  EXPECT_EQ(request_.parts()[0].events->size(), 1u);
  // What stands in quotes is no line, whatever was wrong before them.
  EXPECT_EQ(Errors("m w=,v=\"a\nm v=1\n\"\nm v=1"), "0[w] \"w\": missing field value\n");
  EXPECT_EQ(request_.parts()[0].events->size(), 1u);
}

TEST_F(LineProtocolTest, EachMeasurementGoesToItsStream) {
  streams_ = {"cpu", "mem"};
  const std::string body = "cpu v=1i\nmem,measurement=x measurement2=2i\ndisk v=3i\ncpu v=4i\n";
  EXPECT_EQ(Events(body),
            "cpu:0{v=1}3{v=4}mem:1{@measurement=\"x\" measurement2=2}");
  EXPECT_EQ(Errors(body),
            "2[disk] \"disk\": it is a measurement for which there is no stream\n");
  EXPECT_EQ(decoder_.malformed(), 0u);
}

TEST_F(LineProtocolTest, LinesAreFoundByTheirPlaceAmongEvents) {
  const std::string body = "# a\nm v=1\n\nm v=\"x\ny\"\r\nm v=3\n";
  const std::vector<size_t> indexes = {1, 2, 7};
  const std::vector<LinePlace> places = FindLines(body, indexes);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].number, 4u);
  EXPECT_EQ(places[0].text, "m v=\"x\ny\"");
  EXPECT_EQ(places[1].number, 6u);
  EXPECT_EQ(places[1].text, "m v=3");
}

TEST_F(LineProtocolTest, WhatIsLearnedIsBounded) {
  std::string body;
  for (int i = 0; i < 20'000; ++i) body += fmt::format("m{},tag{}=a field{}=1 1\n", i, i, i);
  EXPECT_EQ(Errors(body), "");
  EXPECT_LT(decoder_.bytes(), 48u << 20);
}

// Lines with what decoders trip over, cut and mixed.
class LineMaker {
 public:
  explicit LineMaker(uint32_t seed) : random_(seed) {}

  std::string Body() {
    std::string body;
    const size_t lines = random_() % 6;
    for (size_t i = 0; i < lines; ++i) body += Line() + Pick({"\n", "\n", "\n", "\r\n", "", " \n"});
    for (size_t i = random_() % 4; i > 0 && !body.empty(); --i) Mutate(&body);
    return body;
  }

 private:
  std::string Pick(std::initializer_list<const char*> choices) {
    return choices.begin()[random_() % choices.size()];
  }
  std::string Line() {
    std::string line = Pick({"cpu", "mem", "a\\,b", "m", "#"});
    for (size_t i = random_() % 3; i > 0; --i) {
      line += "," + Pick({"host", "rack", "a\\ b", "ts"}) + "=" + Pick({"a", "b\\,c", "\xC3\xA9"});
    }
    const size_t fields = 1 + random_() % 4;
    for (size_t i = 0; i < fields; ++i) {
      line += (i == 0 ? " " : ",") + Pick({"v", "w", "x\\=y", "z", "measurement"}) + "=" +
              Pick({"1", "2i", "3u", "-1.25", "1e5", "t", "False", "\"s\"", "\"q\\\"\n, =\"",
                    "0.12345678901234", "9223372036854775808i"});
    }
    if (random_() % 4 != 0)
      line += " " + Pick({"1434055562000000000", "1434055562123456789", "-5"});
    return line;
  }
  void Mutate(std::string* body) {
    const size_t at = random_() % body->size();
    const std::string bytes = "\\\"=, \n#i\xFF\x01" "9t";
    switch (random_() % 4) {
      case 0:
        body->erase(at, 1 + random_() % 3);
        break;
      case 1:
        body->insert(at, 1, bytes[random_() % bytes.size()]);
        break;
      case 2:
        (*body)[at] = bytes[random_() % bytes.size()];
        break;
      default:
        body->insert(at, body->substr(random_() % body->size(), random_() % 20));
        break;
    }
    if (body->empty()) *body = "m";
  }

  std::mt19937 random_;
};

// TALLYD_FUZZ_SECONDS has it run for longer than a moment.
TEST_F(LineProtocolTest, WhatWasLearnedChangesNothingWhateverTheBytes) {
  const char* const seconds = std::getenv("TALLYD_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  for (uint32_t seed = 0; seed < 4000 || std::chrono::steady_clock::now() < end; ++seed) {
    const std::string body = LineMaker(seed).Body();
    const std::string events = Events(body);
    const std::string errors = Errors(body);
    const size_t seen = request_.seen();
    LineProtocol fresh;
    std::swap(fresh, decoder_);
    ASSERT_EQ(Events(body), events) << seed << ": " << body;
    ASSERT_EQ(Errors(body), errors) << seed << ": " << body;
    std::swap(fresh, decoder_);
    std::vector<size_t> indexes(seen + 1);
    for (size_t i = 0; i < indexes.size(); ++i) indexes[i] = i;
    ASSERT_EQ(FindLines(body, indexes).size(), seen) << seed << ": " << body;
    bodies_.clear();
  }
}

}  // namespace
}  // namespace tallyd

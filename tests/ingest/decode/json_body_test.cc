#include "ingest/decode/json_body.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "tests/ingest/padded.h"
#include "tests/ingest/test_data.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

std::string Show(const Value& value) {
  std::string text(ToString(value.type()));
  return text + ":" + ToText(value);
}

// One decoder for all bodies of a test, as a connection has.
class DecodeTest : public ::testing::Test {
 protected:
  // "OK" or the message of the error.
  std::string Decode(std::string_view text, std::string_view type = "application/json") {
    bodies_.emplace_back(text);
    const Status status =
        decoder_.Decode(*FindBodyFormat(type), bodies_.back().view(), shapes_, &batch_);
    return status ? "OK" : status.error().message();
  }
  std::string DecodeLines(std::string_view text) { return Decode(text, "application/x-ndjson"); }

  std::string Events() const {
    std::string all;
    for (size_t i = 0; i < batch_.size(); ++i) {
      const Event event = batch_.event(i);
      all += fmt::format("{}{{", event.index);
      for (size_t f = 0; f < event.values.size(); ++f) {
        all += fmt::format("{}{}={}", f == 0 ? "" : " ", event.FieldOf(f),
                           Show(event.values[f]));
      }
      all += "}";
    }
    return all;
  }
  std::string Errors() const {
    std::string all;
    for (const EventError& error : batch_.errors().kept()) {
      all += fmt::format("{}[{}] {}\n", error.index, error.field, error.detail);
    }
    return all;
  }
  // The fault of a body of one event.
  std::string Fault(std::string_view event) {
    if (std::string result = Decode(event); result != "OK") return result;
    return batch_.size() == 0 ? Errors() : "none: " + Events();
  }

  bool AcceptsAsField(std::string_view text);

  ShapeRegistry shapes_;
  EventDecoder decoder_;
  EventBatch batch_;
  std::deque<Padded> bodies_;
};

TEST_F(DecodeTest, AnObjectIsOneEvent) {
  EXPECT_EQ(Decode(R"({"ts": 1426535612045, "hostname": "server1.bbb.com", "up": true})"), "OK");
  EXPECT_EQ(Events(), "0{ts=int64:1426535612045 hostname=string:server1.bbb.com up=bool:true}");
}

TEST_F(DecodeTest, AnArrayAndItsEnvelopeHoldTheSameEvents) {
  EXPECT_EQ(Decode(R"([{"a":1},{"a":2}])"), "OK");
  EXPECT_EQ(Events(), "0{a=int64:1}1{a=int64:2}");
  EXPECT_EQ(Decode(R"({"events": [{"a":1},{"a":2}]})"), "OK");
  EXPECT_EQ(Events(), "0{a=int64:1}1{a=int64:2}");
  EXPECT_EQ(Decode(R"( { "events" : [ ] } )"), "OK");
  EXPECT_EQ(batch_.seen(), 0u);
  EXPECT_EQ(Decode("[]"), "OK");
  EXPECT_EQ(batch_.seen(), 0u);
}

TEST_F(DecodeTest, EventsIsAnEnvelopeOnlyAlone) {
  EXPECT_EQ(Fault(R"({"events": [{"a":1}], "b": 2})"),
            "0[events] field \"events\": arrays are not stored; send one field per element\n");
  EXPECT_EQ(Decode(R"({"events": 3})"), "OK");
  EXPECT_EQ(Events(), "0{events=int64:3}");
}

TEST_F(DecodeTest, NestedObjectsFlattenWithSlashes) {
  EXPECT_EQ(Decode(R"({"CPU":{"CPU1_USR":0.02,"x":{"y":1}},"IO":{},"z":"s"})"), "OK");
  EXPECT_EQ(Events(), "0{CPU/CPU1_USR=float64:0.02 CPU/x/y=int64:1 z=string:s}");
}

TEST_F(DecodeTest, NullMembersAreAbsent) {
  EXPECT_EQ(Decode(R"([{"a":null,"b":1},{"a":2,"b":null},{"a":3,"b":4}])"), "OK");
  EXPECT_EQ(Events(), "0{b=int64:1}1{a=int64:2}2{a=int64:3 b=int64:4}");
}

TEST_F(DecodeTest, NumbersKeepTheirTypeAndAreExact) {
  const std::pair<const char*, const char*> kCases[] = {
      {"0", "int64:0"},
      {"-0", "int64:0"},
      {"-1", "int64:-1"},
      {"9223372036854775807", "int64:9223372036854775807"},
      {"-9223372036854775808", "int64:-9223372036854775808"},
      {"999999999999999999", "int64:999999999999999999"},
      {"0.0", "float64:0.0"},
      {"-0.0", "float64:-0.0"},
      {"1.0", "float64:1.0"},
      {"1.50", "float64:1.5"},
      {"12345678901234.5", "float64:12345678901234.5"},
      {"0.1234567890123456789", "float64:0.12345678901234568"},
      {"1e3", "float64:1000.0"},
      {"2.5E-3", "float64:0.0025"},
  };
  for (const auto& [text, shown] : kCases) {
    EXPECT_EQ(Decode(fmt::format("{{\"v\":{}}}", text)), "OK") << text;
    EXPECT_EQ(Events(), fmt::format("0{{v={}}}", shown)) << text;
  }
}

TEST_F(DecodeTest, EscapesAreUndone) {
  EXPECT_EQ(Decode(R"({"a\"b\\":"\u0041\n\/\u00e9\ud83d\ude00","c":"plain"})"), "OK");
  EXPECT_EQ(Events(), "0{a\"b\\=string:A\n/\u00e9\U0001F600 c=string:plain}");
}

TEST_F(DecodeTest, EscapedNamesAreTheNamesTheyStandFor) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Decode(R"([{"t\u00e9":1,"b":2},{"té":3,"b":4},{"a\\b":5},{"a\b":6}])"), "OK");
    EXPECT_EQ(Events(),
              "0{té=int64:1 b=int64:2}1{té=int64:3 b=int64:4}2{a\\b=int64:5}3{a\b=int64:6}");
    EXPECT_EQ(batch_.event(0).shape, batch_.event(1).shape);
  }
}

TEST_F(DecodeTest, AKnownOrderOfFieldsIsOneShape) {
  ASSERT_EQ(Decode(R"([{"a":1,"n":{"x":2}},{"a":"s","n":{"x":1.5}},{"a/b":1},{"a":1,"n/x":2}])"),
            "OK");
  EXPECT_EQ(batch_.event(0).shape, batch_.event(1).shape);
  EXPECT_EQ(batch_.event(0).shape, batch_.event(3).shape);
  EXPECT_NE(batch_.event(0).shape, batch_.event(2).shape);
}

TEST_F(DecodeTest, EventsOfManyOrdersKeepTheirOwnFields) {
  std::string body = "[", want;
  for (int i = 0; i < 3000; ++i) {
    body += fmt::format("{}{{\"k{}\":{},\"common\":1}}", i == 0 ? "" : ",", i % 1500, i);
    want += fmt::format("{}{{k{}=int64:{} common=int64:1}}", i, i % 1500, i);
  }
  EXPECT_EQ(Decode(body + "]"), "OK");
  EXPECT_EQ(Events(), want);
}

TEST_F(DecodeTest, ShapesBeyondTheRegistryBelongToTheirEvent) {
  std::string body = "[";
  const size_t events = ShapeRegistry::kMaxShapes + 50;
  for (size_t i = 0; i < events; ++i) body += fmt::format("{}{{\"k{}\":1}}", i == 0 ? "" : ",", i);
  ASSERT_EQ(Decode(body + "]"), "OK");
  ASSERT_EQ(batch_.size(), events);
  EXPECT_TRUE(batch_.event(0).shape->interned);
  EXPECT_FALSE(batch_.event(events - 1).shape->interned);
  EXPECT_EQ(batch_.event(events - 1).shape->fields[0], fmt::format("k{}", events - 1));
}

TEST_F(DecodeTest, FaultsRefuseTheirEventAndNameTheField) {
  const std::pair<std::string, std::string> kCases[] = {
      {R"({"CPU":{"x":[1,{"a":2}]}})",
       "0[CPU/x] field \"CPU/x\": arrays are not stored; send one field per element\n"},
      {R"({})", "0[] it has no fields\n"},
      {R"({"a":null})", "0[] it has no fields\n"},
      {R"({"a":1,"a":2})", "0[a] field \"a\": stands twice in the event\n"},
      {R"({"a":1,"a":null})", "0[a] field \"a\": stands twice in the event\n"},
      {R"({"a":{"b":1},"a":{"c":1}})", "0[a] field \"a\": stands twice in the event\n"},
      {R"({"a/b":1,"a":{"b":2}})", "0[a/b] field \"a/b\": stands twice in the event\n"},
      {R"({"a":{"b":2},"a/b":1})", "0[a/b] field \"a/b\": stands twice in the event\n"},
      {R"({"a":1,"\u0061":2})", "0[a] field \"a\": stands twice in the event\n"},
      {R"({"":1})", "0[] a field's name is empty\n"},
      {R"({"v":9223372036854775808})",
       "0[v] field \"v\": integer 9223372036854775808 does not fit into 64 bits\n"},
      {R"({"v":-9223372036854775809})",
       "0[v] field \"v\": integer -9223372036854775809 does not fit into 64 bits\n"},
      {R"({"v":1e400})", "0[v] field \"v\": number 1e400 is beyond the range of float64\n"},
      {R"({"v":"\ud800"})",
       "0[v] field \"v\": its text holds half of a surrogate pair, which is no character\n"},
      {R"({"\udc00":1})",
       "0[] a field's name holds half of a surrogate pair, which is no character\n"},
      {R"([7])", "0[] it is a number; an event is an object\n"},
      {R"([[{"a":1}]])", "0[] it is an array; an event is an object\n"},
      {R"([null])", "0[] it is null; an event is an object\n"},
  };
  for (const auto& [body, fault] : kCases) EXPECT_EQ(Fault(body), fault) << body;
}

TEST_F(DecodeTest, DecodingGoesOnBehindARefusedEvent) {
  EXPECT_EQ(Decode(R"([{"a":1},{"a":[]},{"b":{"a":1e999,"c":{"d":"x"}}},"x",{"a":2}])"), "OK");
  EXPECT_EQ(Events(), "0{a=int64:1}4{a=int64:2}");
  EXPECT_EQ(batch_.errors().count(), 3u);
  EXPECT_EQ(batch_.errors().kept()[1].field, "b/a");
  EXPECT_EQ(batch_.seen(), 5u);
}

TEST_F(DecodeTest, DepthIsBounded) {
  auto nested = [](size_t depth) {
    std::string text;
    for (size_t i = 1; i < depth; ++i) text += "{\"n\":";
    return text + "{\"v\":1}" + std::string(depth - 1, '}');
  };
  EXPECT_EQ(Decode(nested(kMaxDepth)), "OK");
  EXPECT_EQ(batch_.size(), 1u);
  EXPECT_THAT(Fault(nested(kMaxDepth + 1)), HasSubstr("nested deeper than 32 levels"));
  EXPECT_THAT(Fault(nested(100'000)), HasSubstr("nested deeper than 32 levels"));
  EXPECT_THAT(Fault("[" + std::string(100'000, '[') + std::string(100'000, ']') + "]"),
              HasSubstr("it is an array"));
  EXPECT_THAT(Decode(std::string(1'000'000, '[')), HasSubstr("found the end"));
}

TEST_F(DecodeTest, NamesAreBounded) {
  const std::string longest(kMaxFieldNameBytes, 'n');
  EXPECT_EQ(Decode("{\"" + longest + "\":1}"), "OK");
  EXPECT_EQ(batch_.size(), 1u);
  EXPECT_THAT(Fault("{\"" + longest + "n\":1}"), HasSubstr("longer than 16384 bytes"));
  EXPECT_THAT(Fault("{\"n\":{\"" + longest + "\":1}}"), HasSubstr("longer than 16384 bytes"));
}

TEST_F(DecodeTest, SyntaxErrorsFailTheBodyAndSayWhere) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "the body is empty"},
      {" \n ", "the body is empty"},
      {"7", "byte 0 (event 0): expected an event, an array"},
      {R"({"a":1} x)", "byte 8 (event 0): expected nothing behind the last event, found 'x'"},
      {R"([{"a":1}]])", "byte 9"},
      {"{\"a\":1}\n{\"a\":2}",
       "byte 8 (event 0): expected nothing behind the event (one event per "
       "line is NDJSON"},
      {R"({"events":[{"a":1}]}{)", "byte 20"},
      {R"([{"a":1},{"a" 2}])", "byte 14 (event 1): expected ':' after a field's name, found '2'"},
      {R"([{"a":1})", "byte 8 (event 0): expected ',' or ']' behind an event, found the end"},
      {R"([{"a":1},)", "expected a value, found the end"},
      {R"([{"a":1},])", "byte 9 (event 1): expected a value, found ']'"},
      {R"({"a":1,})", "byte 7 (event 0): expected a field's name in quotes, found '}'"},
      {R"({"a":NaN})", "byte 5 (event 0): expected a value, found 'NaN'"},
      {R"({"a":-Infinity})", "found '-Infinity'"},
      {R"({"a":01})", "found '01'"},
      {R"({"a":1.})", "found '1.'"},
      {R"({"a":+1})", "found '+1'"},
      {R"({"a":.5})", "found '.5'"},
      {R"({"a":1 2})", "byte 7 (event 0): expected ',' or '}', found '2'"},
      {R"({"a":truth})", "found 'truth'"},
      {R"({"a":nul})", "found 'nul'"},
      {R"({"a":"x)", "byte 5 (event 0): a string is not closed"},
      {R"({'a':1})", "byte 1"},
      {R"({"a":"\x"})", "byte 6 (event 0): no such escape"},
      {R"({"a":"\u12g4"})", "no such escape"},
      {R"({"\q":1})", "byte 2 (event 0): no such escape"},
      {R"({"a":[1,{"b":"\x"}]})", "byte 14 (event 0): no such escape"},
      {R"({"a":[1,{"b"}]})", "expected ':'"},
      {R"({"a":[1 2]})", "expected ',' or ']'"},
      {R"({"a":[01]})", "expected a value"},
      {"{\"a\":\"x\ny\"}",
       "byte 7 (event 0): a control character in a string must be written \\u000a"},
      {"[{\"a\":1},{\"a\":\"\xff\"}]", "byte 15 (event 1): invalid UTF-8 (byte 0xFF)"},
      {"{\"a\":\"\xed\xa0\x80\"}", "invalid UTF-8"},
      {"{\"a\":\"\xc0\x80\"}", "invalid UTF-8"},
      {std::string("{\"a\":1}\0", 8), "byte 7"},
  };
  for (const auto& [body, message] : kCases) {
    EXPECT_THAT(Decode(body), HasSubstr(message)) << body;
    EXPECT_EQ(batch_.size(), 0u) << body;
  }
}

TEST_F(DecodeTest, ASyntaxErrorHasTheIndexOfItsEvent) {
  for (const auto& [body, index] : {std::pair<std::string, std::string>{"", "0"},
                                    {R"({"a" 1})", "0"},
                                    {R"([{"a":[]},{"a":1},{"a" 2}])", "2"},
                                    {R"({"events":[{"a":1},{"a":x}]})", "1"}}) {
    const std::string message = Decode(body);
    EXPECT_EQ(Errors(), index + "[] " + message + "\n") << body;
  }
}

TEST_F(DecodeTest, LinesAreEventsOfTheirOwn) {
  EXPECT_EQ(
      DecodeLines("{\"a\":1}\r\n\n  \n{\"a\":2}\n{\"a\":\n[1]\n{\"a\":3} {\"a\":4}\n{\"a\":5}"),
      "OK");
  EXPECT_EQ(Events(), "0{a=int64:1}1{a=int64:2}5{a=int64:5}");
  EXPECT_EQ(Errors(),
            "2[] line 5 is not JSON at byte 5: expected a value, found the end\n"
            "3[] it is an array; an event is an object\n"
            "4[] line 7 is not JSON at byte 8: expected nothing behind the event, found '{'\n");
}

TEST_F(DecodeTest, ABadLineOfBytesSparesTheOthers) {
  EXPECT_EQ(DecodeLines("{\"a\":\"\xff\"}\n{\"a\":\"x\n{\"a\":1}"), "OK");
  EXPECT_EQ(Events(), "2{a=int64:1}");
  EXPECT_THAT(Errors(), HasSubstr("0[] line 1 is not JSON at byte 6: invalid UTF-8"));
  EXPECT_THAT(Errors(), HasSubstr("1[] line 2 is not JSON at byte 5: a string is not closed"));
}

TEST_F(DecodeTest, AByteOrderMarkIsIgnored) {
  EXPECT_EQ(Decode("\xEF\xBB\xBF{\"a\":1}"), "OK");
  EXPECT_EQ(Events(), "0{a=int64:1}");
}

TEST_F(DecodeTest, EveryTruncationIsRefused) {
  const std::string body =
      R"([{"ts":1426535612045,"h":"a\"b\u00e9\ud83d\ude00","n":{"x":-1.25e-3,"y":[1,{}]}},)"
      R"( {"t":true,"f":false,"z":null,"é":12}, 5])";
  ASSERT_EQ(Decode(body), "OK");
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_NE(Decode(body.substr(0, size)), "OK") << body.substr(0, size);
  }
}

TEST_F(DecodeTest, MutatedBodiesNeverBreakTheDecoder) {
  const std::string seed =
      R"({"events":[{"ts":1426535612045,"h":"a\"b\u00e9\ud83d","n":{"x":-1.25e-3,"y":{"z":1}}},)"
      R"({"ts":1426535612046,"h":"é","n":{"x":1e400,"y":{"z":[[]]}}}]})"
      "\n{\"a\":1}\n";
  constexpr std::string_view kBytes =
      "{}[]:,\"\\ \n\r\t0123456789-+.eEtrufalsn\x00\x1f\x7f\xc3\xff";
  std::mt19937 random(20211121);
  for (int round = 0; round < 20'000; ++round) {
    std::string body = seed;
    for (size_t i = 0, n = 1 + random() % 6; i < n && !body.empty(); ++i) {
      const size_t at = random() % body.size();
      switch (random() % 4) {
        case 0:
          body[at] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          body.insert(at, 1, kBytes[random() % kBytes.size()]);
          break;
        case 2:
          body.erase(at, 1 + random() % 4);
          break;
        default:
          body.insert(at, body.substr(random() % body.size(), random() % 20));
      }
    }
    Decode(body, round % 2 == 0 ? "application/json" : "application/x-ndjson");
    for (size_t i = 0; i < batch_.size(); ++i) {
      const Event event = batch_.event(i);
      const size_t fields = event.is_choice() ? event.places.size() : event.shape->fields.size();
      ASSERT_EQ(event.values.size(), fields);
      for (const Value& value : event.values) ASSERT_FALSE(value.is_null());
    }
    ASSERT_EQ(batch_.size() + batch_.errors().count(), batch_.seen());
    if (round % 1000 == 0) bodies_.clear();
  }
}

// Whether the value in the array that `text` is can be a field's value: what the suite leaves open.
bool DecodeTest::AcceptsAsField(std::string_view text) {
  const size_t close = text.rfind(']');
  if (text.empty() || text[0] != '[' || close == std::string_view::npos) return false;
  const auto inner = text.substr(1, close - 1);
  return Decode(fmt::format("{{\"v\":{}}}", inner)) == "OK" && batch_.size() == 1;
}

// The values of the suite are arrays and scalars, which are no events: whether the text is JSON is
// seen from the kind of the answer, an error of the body or only of the event.
TEST_F(DecodeTest, AnswersTheJsonTestSuiteAsItMust) {
  const std::set<std::string> kAcceptedFreely = {
      "i_number_double_huge_neg_exp.json",  // Rounds to zero.
      "i_number_real_underflow.json",
  };
  const auto folder = TestData() / "json-test-suite/test_parsing";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const std::string result = Decode("[" + text.str() + "\n]");
    const bool is_json = result == "OK" && batch_.seen() == 1;
    ++files;
    switch (name[0]) {
      case 'y':
        EXPECT_TRUE(is_json) << name << ": " << result;
        break;
      case 'n':
        EXPECT_FALSE(is_json) << name;
        break;
      default:
        EXPECT_EQ(AcceptsAsField(text.str()), kAcceptedFreely.count(name) > 0) << name;
    }
  }
  EXPECT_GE(files, 100u);
}

}  // namespace
}  // namespace tallyd

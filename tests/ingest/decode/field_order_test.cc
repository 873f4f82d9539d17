// A decoder that knows orders of fields reads what one reads that knows none.
#include "ingest/decode/field_order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ingest/decode/decode.h"
#include "tests/ingest/padded.h"
#include "tests/ingest/show_events.h"

namespace tallyd {
namespace {

class FieldOrderTest : public ::testing::Test {
 protected:
  static constexpr std::string_view kJson = "application/json";
  static constexpr std::string_view kLines = "application/x-ndjson";

  static std::string Read(std::string_view body, std::string_view type, EventDecoder* decoder,
                          ShapeRegistry* shapes) {
    EventBatch batch;
    const Padded padded(body);
    const Status status = decoder->Decode(*FindBodyFormat(type), padded.view(), *shapes, &batch);
    return status ? ShowEvents(batch) : status.error().message() + ShowEvents(batch);
  }
  std::string Read(std::string_view body, std::string_view type = kJson) {
    return Read(body, type, &decoder_, &shapes_);
  }
  static std::string ReadAnew(std::string_view body, std::string_view type = kJson) {
    EventDecoder decoder;
    ShapeRegistry shapes;
    return Read(body, type, &decoder, &shapes);
  }

  EventDecoder decoder_;
  ShapeRegistry shapes_;
};

TEST_F(FieldOrderTest, FieldsThatComeOneByOneAreReadAsEver) {
  for (int round = 0; round < 3; ++round) {
    std::string body = "[";
    for (int i = 0; i < 2000; ++i) {
      body += fmt::format(R"({}{{"device":"d{}","ts":{},"m{}":{}}})", i == 0 ? "" : ",", i % 4, i,
                          (i + round) * 7 % 1000, i);
    }
    body += "]";
    ASSERT_EQ(Read(body), ReadAnew(body)) << "round " << round;
  }
}

TEST_F(FieldOrderTest, WhatEndsWhereManyFieldsBranchIsReadAsEver) {
  std::string body = "[";
  for (int i = 0; i < 20; ++i) body += fmt::format(R"({{"a":1,"o":{{"x{}":{}}}}},)", i, i);
  body += R"({"a":1,"o":{}},{"a":1,"o":{"x":null}},{"a":1,"o":1},{"a":2,"o":{},"b":3}])";
  for (int round = 0; round < 3; ++round) ASSERT_EQ(Read(body), ReadAnew(body));
}

// So that whoever keeps decoders knows what they take.
TEST_F(FieldOrderTest, WhatIsLearnedIsCounted) {
  Read(R"([{"a":1}])");
  const size_t before = decoder_.bytes();
  constexpr size_t kNameBytes = 1000;
  constexpr size_t kNames = 200;
  std::string body = "{";
  for (size_t i = 0; i < kNames; ++i) {
    body += fmt::format(R"({}"{}{}":1)", i == 0 ? "" : ",", std::string(kNameBytes, 'x'), i);
  }
  Read(body + "}");
  EXPECT_GE(decoder_.bytes(), before + kNames * kNameBytes);
  EXPECT_LE(decoder_.bytes(), before + 16 * kNames * kNameBytes);
}

// 60 KB of a body once took 240 MB, and two thirds of them until the next event.
TEST_F(FieldOrderTest, ALongNameAroundManyFieldsIsRefusedWithoutTakingMuch) {
  const std::string around(16'000, 'p');
  std::string body = "[{\"a\":1},{\"" + around + "\":{";
  for (int i = 0; i < 5000; ++i) body += fmt::format(R"({}"{}":1)", i == 0 ? "" : ",", i);
  body += "}},{\"a\":2}]";
  for (int round = 0; round < 3; ++round) {
    const std::string read = Read(body);
    EXPECT_THAT(read, ::testing::HasSubstr("0{a=int64:1 }\n2{a=int64:2 }\n"));
    EXPECT_THAT(read, ::testing::HasSubstr("1[] the names of all its fields"));
    EXPECT_LE(decoder_.bytes(), 1u << 20);
  }
  // Each of many may take what one may take.
  std::string lines;
  for (int line = 0; line < 100; ++line) {
    lines += fmt::format("{{\"{}{}\":{{\"x\":{},\"y\":2}}}}\n", around.substr(0, 300), line, line);
  }
  EXPECT_THAT(Read(lines, kLines), ::testing::Not(::testing::HasSubstr("names")));
}

TEST_F(FieldOrderTest, EventsBehindTheLastNamesThatFitAreRefusedAndLaterBodiesAreNot) {
  const std::string around(16'000, 'p');
  const auto event = [&](int number) {
    std::string text = fmt::format("{{\"{}\":{{", around);
    for (int i = 0; i < 30; ++i) text += fmt::format(R"("m{}":{},)", i, i);
    return text + fmt::format("\"last\":0}},\"behind{}\":1}}", number);
  };
  const std::string known = "[" + event(0) + "]";
  const std::string before = Read(known);
  // Each leaves the known order behind its object, whose names are then spelled out.
  std::string body = "[" + event(1);
  for (int number = 2; number < 40; ++number) body += "," + event(number);
  const std::string read = Read(body + "]");
  EXPECT_THAT(read, ::testing::HasSubstr("behind2=int64:1"));
  EXPECT_THAT(read, ::testing::HasSubstr("[] the names of all its fields"));
  EXPECT_EQ(Read(known), before);
}

// Members behind one member that differ in name, kind or spelling, and some that come twice.
std::string AnyMember(std::mt19937* random) {
  const auto number = (*random)() % 40;
  switch ((*random)() % 12) {
    case 0:
      return fmt::format(R"("k{}":null)", number);
    case 1:
      return fmt::format(R"("k{}":{{"x{}":1}})", number, (*random)() % 20);
    case 2:
      return fmt::format(R"("k\u00{:02x}":2)", '0' + number % 10);
    case 3:
      return fmt::format(R"("\"{}\\":3)", number);
    case 4:
      return R"("":4)";
    default:
      return fmt::format(R"("k{}":{})", number, (*random)() % 100);
  }
}

TEST_F(FieldOrderTest, AnyMembersAreReadAsEver) {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    std::string body = "[";
    for (auto events = 1 + random() % 30; events > 0; --events) {
      body += body.size() > 1 ? ",{" : "{";
      if (random() % 4 > 0) body += R"("id":7,)";
      for (auto members = random() % 3; members > 0; --members) body += AnyMember(&random) + ",";
      body += AnyMember(&random) + "}";
    }
    body += "]";
    ASSERT_EQ(Read(body), ReadAnew(body)) << body;
  }
}

std::string AnyScalar(std::mt19937* random) {
  const std::string_view scalars[] = {
      "0",
      "-0",
      "7",
      "-12",
      "1426535612045",
      "1234567890123456",
      "12345678",
      "0.5",
      "-1.25",
      "99.999999",
      "1e3",
      "1.0",
      "-0.0",
      "00",
      "1.",
      ".5",
      "12345678901234567890123",
      "true",
      "false",
      "null",
      R"("")",
      R"("web-1")",
      R"("0123456")",
      R"("01234567")",
      R"("a\nb")",
      R"("\u00e9")",
      "\"\xC3\xA9\"",
      "\"\xC3\"",
      R"("a text of more than sixteen bytes")",
      R"("\ud800")",
      "[1]",
  };
  const size_t usual = std::size(scalars) / 2;
  return std::string(scalars[(*random)() % ((*random)() % 8 == 0 ? std::size(scalars) : usual)]);
}

// Of a few forms, each with its own space; the values differ.
std::string AnyEvent(std::mt19937* random) {
  const auto value = [random] { return AnyScalar(random); };
  switch ((*random)() % 6) {
    case 0:
      return fmt::format(R"({{"ts":{},"host":"web-1","CPU":{{"usr":{},"sys":{}}},"up":{}}})",
                         value(), value(), value(), value());
    case 1:
      return fmt::format(R"({{ "ts": {}, "host": {}, "gone": null, "o": {{}} }})", value(),
                         value());
    case 2:
      return fmt::format(R"({{"ts":{},"a":{}}})", value(), value());
    case 3:
      return fmt::format(R"({{"ts":{},"b":{}}})", value(), value());
    case 4:
      return fmt::format("{{\t\"\\u0041\" :{} ,\"a name of more than eight bytes\": {}}}", value(),
                         value());
    default:
      return fmt::format(R"({{"ts":{},"b":{},"events":{}}})", value(), value(), value());
  }
}

// Both where an array is sent and where lines are.
std::string AnyBody(std::mt19937* random, bool lines) {
  const std::string_view separators[] = {",", ", ", " ,\n"};
  const std::string_view separator = lines ? "\n" : separators[(*random)() % 3];
  std::string body;
  for (auto events = 1 + (*random)() % 6; events > 0; --events) {
    body.append(body.empty() ? std::string_view() : separator).append(AnyEvent(random));
  }
  if (!lines && (*random)() % 8 > 0) body = "[" + body + "]";
  return body;
}

void ChangeSomeBytes(std::mt19937* random, std::string* body) {
  constexpr std::string_view kBytes = "\"\\{}[]:,.-+e 0179tn\n\x01\x7F\xC3\xA9/";
  for (auto changes = (*random)() % 3; changes > 0; --changes) {
    const size_t at = (*random)() % body->size();
    const char byte = kBytes[(*random)() % kBytes.size()];
    switch ((*random)() % 3) {
      case 0:
        (*body)[at] = byte;
        break;
      case 1:
        body->insert(at, 1, byte);
        break;
      default:
        body->erase(at, 1 + (*random)() % 2);
        break;
    }
    if (body->empty()) body->push_back(byte);
  }
}

// What comes as it did before is read without a look for tokens: to the same end, whatever is
// wrong with it.
TEST_F(FieldOrderTest, WhatComesAsBeforeButForSomeBytesIsReadAsEver) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    const bool lines = random() % 3 == 0;
    std::string body = AnyBody(&random, lines);
    ChangeSomeBytes(&random, &body);
    const std::string_view type = lines ? kLines : kJson;
    ASSERT_EQ(Read(body, type), ReadAnew(body, type)) << body;
  }
}

// Nothing behind a body is taken for its own: neither digits nor how it would go on.
TEST_F(FieldOrderTest, ABodyThatIsCutOffAnywhereIsReadAsEver) {
  const std::string body = R"([{"ts":7777777,"host":"web-1","CPU":{"usr":77}},)"
                           R"({"ts":7,"host":"web-2","CPU":{"usr":7.7}}])";
  for (size_t size = 0; size <= body.size(); ++size) {
    for (int round = 0; round < 2; ++round) Read(body);
    const std::string_view cut = std::string_view(body).substr(0, size);
    ASSERT_EQ(Read(cut), ReadAnew(cut)) << cut;
    for (int round = 0; round < 2; ++round) Read(body);
    const Padded whole(body);
    EventBatch batch;
    const Status status =
        decoder_.Decode(*FindBodyFormat(kJson), whole.view().substr(0, size), shapes_, &batch);
    const std::string error = status ? std::string() : status.error().message();
    ASSERT_EQ(error + ShowEvents(batch), ReadAnew(cut)) << cut;
  }
}

}  // namespace
}  // namespace tallyd

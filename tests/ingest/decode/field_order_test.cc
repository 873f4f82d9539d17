// A decoder that knows orders of fields reads what one reads that knows none.
#include "ingest/decode/field_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "ingest/decode/decode.h"
#include "tests/ingest/padded.h"
#include "tests/ingest/show_events.h"

namespace tallyd {
namespace {

class FieldOrderTest : public ::testing::Test {
 protected:
  static std::string Read(std::string_view body, EventDecoder* decoder, ShapeRegistry* shapes) {
    EventBatch batch;
    const Padded padded(body);
    const Status status =
        decoder->Decode(*FindBodyFormat("application/json"), padded.view(), *shapes, &batch);
    return status ? ShowEvents(batch) : status.error().message();
  }
  std::string Read(std::string_view body) { return Read(body, &decoder_, &shapes_); }
  static std::string ReadAnew(std::string_view body) {
    EventDecoder decoder;
    ShapeRegistry shapes;
    return Read(body, &decoder, &shapes);
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

}  // namespace
}  // namespace tallyd

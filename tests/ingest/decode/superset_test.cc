// Decoders that project events onto a superset read what those read that know none.
#include "ingest/decode/superset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "ingest/decode/decode.h"
#include "tests/ingest/known_fields.h"
#include "tests/ingest/padded.h"
#include "tests/ingest/show_events.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;

TEST(SupersetTest, ObjectsAreMembersBeforeWhatIsInThem) {
  const Superset superset({"k", "a/b/c", "a/b/d", "a", "e//f"});
  std::vector<std::string> paths;
  for (const Superset::Member& member : superset.members()) paths.push_back(member.path);
  EXPECT_THAT(paths, ElementsAre("k", "a/b", "a/b/c", "a/b/d", "a", "e", "e/", "e//f"));
  EXPECT_EQ(superset.PlaceOf("a/b/d"), 2u);
  EXPECT_EQ(superset.PlaceOf("a"), 3u);
  EXPECT_EQ(superset.PlaceOf("a/b"), Superset::kNoPlace);
}

TEST(SupersetTest, DeepNamesDoNotMakeManyMembers) {
  std::vector<std::string> fields;
  for (size_t i = 0; i < Superset::kMaxFields; ++i) {
    std::string path;
    for (size_t level = 0; level < 20; ++level) path += fmt::format("{}/", i);
    fields.push_back(path + "x");
  }
  EXPECT_LE(Superset(fields).members().size(), 2 * Superset::kMaxFields);
}

TEST(SupersetTest, ServesEventsThatHaveWhatTablesRequireAndNotTooFewFields) {
  std::vector<std::string> fields;
  for (size_t i = 0; i < 80; ++i) fields.push_back(fmt::format("f{}", i));
  const Superset superset(fields);
  std::vector<uint16_t> places;
  for (uint16_t i = 0; i < 9; ++i) places.push_back(i);
  EXPECT_FALSE(superset.Serves(places)) << "9 of 80";
  places.push_back(70);
  EXPECT_TRUE(superset.Serves(places));
  superset.shape().terms->Require(70);
  EXPECT_TRUE(superset.Serves(places));
  superset.shape().terms->Require(71);
  EXPECT_FALSE(superset.Serves(places));
  superset.shape().terms->Refuse();
  places.push_back(71);
  EXPECT_FALSE(superset.Serves(places));
}

TEST(SupersetTest, ServesEventsThatHaveOneFieldOfEachChoice) {
  const Superset superset({"a", "b", "c", "d"});
  const SupersetTerms& terms = *superset.shape().terms;
  EXPECT_TRUE(terms.RequireOneOf(std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(terms.RequireOneOf(std::vector<uint32_t>{2, 3}));
  const auto serves = [&](std::vector<uint16_t> places) { return superset.Serves(places); };
  EXPECT_TRUE(serves({1, 2}));
  EXPECT_TRUE(serves({0, 1, 3}));
  EXPECT_FALSE(serves({0, 1}));
  EXPECT_FALSE(serves({3}));
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(terms.RequireOneOf(std::vector<uint32_t>{0, 1})) << "asked for before";
  }
  size_t taken = 0;
  for (uint32_t choice = 1; choice < 16; ++choice) {
    std::vector<uint32_t> places;
    for (uint32_t place = 0; place < 4; ++place) {
      if ((choice >> place & 1) != 0) places.push_back(place);
    }
    taken += terms.RequireOneOf(places) ? 1 : 0;
  }
  EXPECT_EQ(taken, 8u);
}

class ProjectionTest : public ::testing::Test {
 protected:
  ProjectionTest() {
    KnowFields({"k", "ts", "a", "b", "c", "o/x", "o/y", "o/p/q", "long name of a field", "r/s"},
               &shapes_);
  }

  std::string Decode(std::string_view body, std::string_view type = "application/json") {
    bodies_.emplace_back(body);
    const Status status =
        decoder_.Decode(*FindBodyFormat(type), bodies_.back().view(), shapes_, &batch_);
    return status ? ShowEvents(batch_) : status.error().message();
  }
  // By a decoder that knows nothing.
  std::string Plainly(std::string_view body, std::string_view type = "application/json") {
    ShapeRegistry shapes;
    EventDecoder decoder;
    EventBatch batch;
    bodies_.emplace_back(body);
    const Status status =
        decoder.Decode(*FindBodyFormat(type), bodies_.back().view(), shapes, &batch);
    return status ? ShowEvents(batch) : status.error().message();
  }
  size_t Choices() const {
    size_t choices = 0;
    for (size_t i = 0; i < batch_.size(); ++i) choices += batch_.event(i).is_choice() ? 1 : 0;
    return choices;
  }

  std::string RandomObject(size_t depth);
  std::string RandomLine(size_t columns);

  std::mt19937_64 random_{11};
  ShapeRegistry shapes_;
  EventDecoder decoder_;
  EventBatch batch_;
  std::deque<Padded> bodies_;
};

TEST_F(ProjectionTest, EventsThatDoNotRecurHaveTheSupersetsShape) {
  const std::string body =
      R"([{"k":1,"b":2,"o":{"x":3,"p":{"q":4}}},)"
      R"({"c":1,"a":null,"r/s":2,"long name of a field":3}])";
  EXPECT_EQ(Decode(body), Plainly(body));
  EXPECT_EQ(Choices(), 2u);
  EXPECT_EQ(batch_.event(0).shape, batch_.event(1).shape);
  ASSERT_NE(batch_.event(0).Find("o/p/q"), nullptr);
  EXPECT_EQ(batch_.event(0).Find("o/p/q")->AsInt(), 4);
  EXPECT_EQ(batch_.event(1).Find("a"), nullptr);
}

TEST_F(ProjectionTest, WhatTheSupersetLacksIsReadAsEver) {
  for (const std::string_view body :
       {R"({"k":1,"a":2,"new":3})", R"({"k":1,"a":2,"k":3})", R"({"k":1,"a":2,"a":null})",
        R"({"k":1,"a":null,"a":null,"b":1})", R"({"k":1,"o":{"x":1},"o":{"y":1}})",
        R"({"k":1,"o":{"x":1},"o/x":2})", R"({"o":1,"k":1,"b":2})", R"({"o":null,"k":1,"b":2})",
        R"({"o":{},"k":1,"b":2})", R"({"k":{},"b":1,"c":2})", R"({"k":1,"":2,"b":3})",
        R"({"k":1,"\u0062":2,"c":3})", R"({"k":1,"b":[1],"c":3})", R"({"k":null,"b":null})",
        R"({"k":1,"o":{"x":[],"y":1}})", R"({"k":1,"b":1e999,"c":1})", R"({"k":1,"b\q":2})",
        R"({"k":1,"b":2,)", R"({"k":1,"o":{"p":{"q":1,"q":2}}})", R"({"r":{"s":1},"k":1,"a":2})"}) {
    for (int round = 0; round < 3; ++round) EXPECT_EQ(Decode(body), Plainly(body)) << body;
  }
}

TEST_F(ProjectionTest, EmptyNamesInObjectsAreRefusedWhateverFieldsAreCalled) {
  ShapeRegistry shapes;
  KnowFields({"k", "x/", "x//y", "a", "b", "c", "d"}, &shapes);
  ASSERT_NE(shapes.superset(), nullptr);
  EventDecoder decoder;
  for (const std::string_view body :
       {R"({"x":{"":1},"k":1,"a":2})", R"({"k":1,"x":{"":1}})", R"({"x":{"":1},"new":2})",
        R"({"x":{"":{"y":1}},"k":1})", R"({"x":{"":{"y":1}},"new":{"z":1}})",
        R"({"k":1,"x/":2,"x//y":3})", R"({"x":{"/y":1},"k":1})"}) {
    for (int round = 0; round < 3; ++round) {
      EventBatch batch;
      bodies_.emplace_back(body);
      const BodyFormat& json = *FindBodyFormat("application/json");
      ASSERT_TRUE(decoder.Decode(json, bodies_.back().view(), shapes, &batch));
      EXPECT_EQ(ShowEvents(batch), Plainly(body)) << body;
    }
  }
}

TEST_F(ProjectionTest, OrdersThatRecurAreFoundAgain) {
  const std::string known = R"({"k":1,"never known":2})";
  Decode(known);
  std::string body = "[";
  for (int i = 0; i < 200; ++i) body += R"({"k":1,"c":2,"a":3},)";
  Decode(body + known + "]");
  EXPECT_EQ(Choices(), 200u);
  EXPECT_FALSE(batch_.event(200).is_choice());
}

std::string ProjectionTest::RandomObject(size_t depth) {
  static const std::vector<std::string> kNames = {
      "k", "ts", "a", "b", "c", "o", "o/x", "x", "y", "p", "q", "r/s", "s", "long name of a field"};
  std::string members;
  const size_t count = random_() % 9;
  for (size_t i = 0; i < count; ++i) {
    std::string name = kNames[random_() % kNames.size()];
    if (random_() % 40 == 0) name = fmt::format("n{}", random_() % 100);
    if (random_() % 40 == 0) name = "\\u0061";
    std::string value = std::to_string(random_() % 100);
    if (random_() % 8 == 0) value = "null";
    if (random_() % 60 == 0) value = "[1]";
    const bool object = name.size() == 1 && (name == "o" || name == "p" || random_() % 30 == 0);
    if (object && depth < 4 && random_() % 8 != 0) value = RandomObject(depth + 1);
    members += fmt::format("{}\"{}\":{}", members.empty() ? "" : ",", name, value);
  }
  return "{" + members + "}";
}

TEST_F(ProjectionTest, AnyObjectIsReadAlikeWithASupersetOrWithout) {
  size_t choices = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string body = "[" + RandomObject(0);
    for (size_t i = random_() % 8; i > 0; --i) body += "," + RandomObject(0);
    body += "]";
    if (random_() % 20 == 0) body.resize(random_() % body.size());
    ASSERT_EQ(Decode(body), Plainly(body)) << body;
    choices += Choices();
    bodies_.clear();
  }
  EXPECT_GT(choices, 500u);
}

std::string ProjectionTest::RandomLine(size_t columns) {
  std::string line;
  for (size_t i = 0; i < columns; ++i) {
    const size_t kind = random_() % 12;
    const std::string cell = kind < 4 ? "" : kind < 5 ? "\"\"" : kind < 6 ? "text" : "7";
    line += (i == 0 ? "" : ",") + cell;
  }
  if (random_() % 30 == 0) line += ",7";
  return line;
}

TEST_F(ProjectionTest, LinesThatFillOtherColumnsAreReadAlikeWithASupersetOrWithout) {
  size_t choices = 0;
  for (int round = 0; round < 300; ++round) {
    std::string body = "k,o/x,a,b,long name of a field,ts";
    const bool is_new = random_() % 4 == 0;
    if (is_new) body += ",new";
    for (size_t i = random_() % 30; i > 0; --i) body += "\n" + RandomLine(is_new ? 7 : 6);
    ASSERT_EQ(Decode(body, "text/csv"), Plainly(body, "text/csv")) << body;
    choices += Choices();
    bodies_.clear();
  }
  EXPECT_GT(choices, 500u);
}

}  // namespace
}  // namespace tallyd

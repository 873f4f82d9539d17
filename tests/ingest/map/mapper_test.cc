#include "ingest/map/mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <regex>
#include <set>
#include <thread>

#include "ingest/map/seen_fields.h"
#include "tests/config/schema/row_key_helper.h"
#include "tests/ingest/world.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

constexpr const char* kServer = R"(
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}
[tables.CURRENT_METRIC]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
)";

constexpr const char* kSensor = R"(
[tables.SENSOR]
stream = "meter"
pattern = "new-column"
row_key = "{meter:zero(10)}#{ts:day}"
columns = [
  { family = "METER", name = "ID", value = "{meter}" },
  { family = "METER", name = "{ts:%H%M}", value = "{value}" },
]
families.METER = {}
)";

TEST(MapperTest, AnEventEntersHistoryAndLatestTogether) {
  World world(kServer);
  const MapOutcome outcome = world.Map(
      R"([{"hostname":"server1","ts":1426535612045,"CPU":{"USR":0.02},"IO":3,"on":true,"s":"x"}])");
  EXPECT_EQ(world.Rows(),
            "METRIC server1#1426535612045 | METRIC:CPU/USR=0.02@1426535612045"
            " METRIC:IO=3@1426535612045 METRIC:on=true@1426535612045 METRIC:s='x'@1426535612045\n"
            "CURRENT_METRIC server1 | METRIC:CPU/USR=0.02@1426535612045"
            " METRIC:IO=3@1426535612045 METRIC:on=true@1426535612045 METRIC:s='x'@1426535612045\n");
  EXPECT_EQ(outcome.events, 1u);
  EXPECT_EQ(outcome.rows, 2u);
  EXPECT_EQ(outcome.cells, 8u);
  EXPECT_EQ(world.batch->puts_with_set, 2u);
}

TEST(MapperTest, ShapesOfTwoRegistriesAreNotMixedUpThoughTheyHaveOneNumber) {
  World world(kServer);
  ShapeRegistry others;
  EventDecoder decoder;
  EventBatch events;
  for (int i = 0; i < 3; ++i) {
    world.Map(R"({"hostname":"a","ts":1,"b":1})");
    EXPECT_THAT(world.Rows(), HasSubstr("METRIC a#0000000000001 | METRIC:b=1@1\n"));
    const Padded body(R"({"ts":2,"c":3,"hostname":"d"})");
    ASSERT_TRUE(decoder.Decode(*FindBodyFormat(""), body.view(), others, &events));
    ASSERT_EQ(events.event(0).shape->number, 0u);
    RecordingBatch batch;
    world.mappers.begin()->second->Map(events, world.arrival, &batch);
    ASSERT_EQ(batch.preview.Tables().size(), 2u);
    EXPECT_EQ(batch.preview.Tables()[0].rows[0].key, "d#0000000000002");
  }
}

TEST(MapperTest, ColumnsThatTheStoreDoesNotLearnArePutByName) {
  World world(kServer);
  world.store->max_sets = 0;
  world.Map(R"({"hostname":"server1","ts":1,"b":1,"a":2})");
  EXPECT_EQ(world.batch->puts_by_name, 2u);
  EXPECT_THAT(world.Rows(),
              HasSubstr("METRIC server1#0000000000001 | METRIC:a=2@1 METRIC:b=1@1\n"));
}

TEST(MapperTest, EventsWithoutATimeGetThatOfArrivalPlusAMicrosecondEach) {
  World world(kServer);
  world.Map(R"([{"hostname":"a","v":1},{"hostname":"b","ts":5,"v":2},{"hostname":"a","v":3}])");
  EXPECT_EQ(world.Rows(),
            "METRIC a#1700000000000 | METRIC:v=3@1700000000000.001 METRIC:v=1@1700000000000\n"
            "METRIC b#0000000000005 | METRIC:v=2@5\n"
            "CURRENT_METRIC a | METRIC:v=3@1700000000000.001\n"
            "CURRENT_METRIC b | METRIC:v=2@5\n");
}

TEST(MapperTest, AFieldlessKeyFieldRefusesTheEventByName) {
  World world(kServer);
  EXPECT_EQ(world.Refusal(R"({"ts":1,"v":1})"),
            "0[hostname] field \"hostname\": missing, and the row key of METRIC needs it\n");
  EXPECT_THAT(world.Refusal(R"({"ts":1,"v":1,"hostname":null})"), HasSubstr("missing"));
  EXPECT_THAT(world.Refusal(R"({"ts":1,"v":1,"hostname":""})"), HasSubstr("0[hostname] "));
}

TEST(MapperTest, ATimeThatDoesNotParseRefusesTheEventByName) {
  World world(kServer);
  EXPECT_THAT(world.Refusal(R"({"hostname":"a","ts":"yesterday","v":1})"),
              HasSubstr("0[ts] field \"ts\": "));
  EXPECT_THAT(world.Refusal(R"({"hostname":"a","ts":-1,"v":1})"), HasSubstr("0[ts] "));
  EXPECT_THAT(world.Refusal(R"({"hostname":"a","ts":10000000000000,"v":1})"), HasSubstr("0[ts] "));
  EXPECT_THAT(world.Refusal(R"({"hostname":"a","ts":true,"v":1})"), HasSubstr("0[ts] "));
}

TEST(MapperTest, AnEventThatEntersNoTableIsToldWhy) {
  World world(R"(
[tables.QUOTE]
stream = "market"
pattern = "single-timestamp"
row_key = "{s}#{ts:ms}"
when = ["bid"]
families.MD = {}
[tables.TRADE]
stream = "market"
pattern = "single-timestamp"
row_key = "{s}#{ts:ms}"
columns = [ { family = "MD", fields = ["sale*"] } ]
families.MD = {}
)");
  EXPECT_EQ(world.Refusal(R"({"s":"A","ts":1,"x":1})"),
            "0[] enters no table of stream market: QUOTE: it needs field \"bid\"; TRADE: no column "
            "rule finds a value\n");
  world.Map(R"({"s":"A","ts":1,"bid":1})");
  EXPECT_EQ(world.Rows(), "QUOTE A#0000000000001 | MD:bid=1@1\n");
}

TEST(MapperTest, MessagesSplitByFieldGroupAndTime) {
  World world(R"(
[streams.market]
time = "QUOTETIME"
[tables.QUOTE]
stream = "market"
pattern = "single-timestamp"
when = ["QUOTETIME"]
row_key = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{QUOTETIME:ms}"
columns = [ { family = "MD", names = "compact", fields = [
  "SYMBOL", "EXCHANGE", "QUOTETIME", "Bid", "Bid size"] } ]
families.MD = {}
[tables.TRADE]
stream = "market"
pattern = "single-timestamp"
time = "TRADETIME"
when = ["TRADETIME"]
row_key = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{TRADETIME:ms}"
columns = [ { family = "MD", fields = ["SYMBOL", "Last*"], rename = { "Last sale" = "LASTSALE" } } ]
families.MD = {}
)");
  world.Map(R"({"EXCHANGE":"NYSE","SYMBOL":"IBM","QUOTETIME":1426535612156,
                "TRADETIME":1426535612045,"Bid":600.55,"Bid size":500,"Last sale":600.58})");
  EXPECT_EQ(world.Rows(),
            "QUOTE NYSE  #IBM  #1426535612156 | MD:BID=600.55@1426535612156"
            " MD:BIDSIZE=500@1426535612156 MD:EXCHANGE='NYSE'@1426535612156"
            " MD:QUOTETIME=1426535612156@1426535612156 MD:SYMBOL='IBM'@1426535612156\n"
            "TRADE NYSE  #IBM  #1426535612045 | MD:LASTSALE=600.58@1426535612045"
            " MD:SYMBOL='IBM'@1426535612045\n");
}

TEST(MapperTest, ReadingsBecomeColumnsNamedByTime) {
  World world(kSensor);
  world.Map(R"([{"meter":987654,"ts":"2017-07-26T00:00:00Z","value":12.34},
                {"meter":987654,"ts":"2017-07-26T23:45:00Z","value":28.90}])");
  EXPECT_EQ(world.Rows(),
            "SENSOR 0000987654#20170726 |"
            " METER:2345=28.9@1501112700000 METER:ID=987654@1501112700000"
            " METER:0000=12.34@1501027200000 METER:ID=987654@1501027200000\n");
}

TEST(MapperTest, WithoutItsReadingAnEventOnlyLeavesWhatTheOtherRulesFind) {
  World world(kSensor);
  world.Map(R"({"meter":5,"ts":0,"other":1})");
  EXPECT_EQ(world.Rows(), "SENSOR 0000000005#19700101 | METER:ID=5@0\n");
}

TEST(MapperTest, ANumberWiderThanItsPaddingRefusesTheEvent) {
  World world(kSensor);
  EXPECT_THAT(world.Refusal(R"({"meter":98765432101,"ts":0,"value":1})"), HasSubstr("0[meter] "));
}

TEST(MapperTest, AKeyThatNamesTheFieldGivesARowPerField) {
  World world(R"(
[tables.B]
stream = "balloon"
pattern = "new-column"
row_key = "{location}#{balloon}#{field}#{ts:week}"
families.m = {}
)");
  const MapOutcome outcome =
      world.Map(R"({"location":"us-west2","balloon":3698,"ts":0,"pressure":94558,"temp":9.5})");
  EXPECT_EQ(world.Rows(),
            "B us-west2#3698#pressure#1970w01 | m:94558=''@0\n"
            "B us-west2#3698#temp#1970w01 | m:9.5=''@0\n");
  EXPECT_EQ(outcome.rows, 2u);
  EXPECT_EQ(outcome.cells, 2u);
}

TEST(MapperTest, QualifiersCanBeData) {
  World world(R"(
[tables.FRIENDS]
stream = "friends"
pattern = "latest"
row_key = "{person}"
columns = [ { family = "Friends", name = "{friend}", value = "{how}" } ]
families.Friends = {}
)");
  world.Map(R"([{"person":"José","friend":"Fred","how":"book club"},
                {"person":"José","friend":"Gabriel","how":"work"}])");
  EXPECT_THAT(world.Rows(), HasSubstr("Friends:Gabriel='work'"));
  EXPECT_THAT(world.Rows(), HasSubstr("Friends:Fred='book club'"));
  EXPECT_THAT(world.Refusal(R"({"person":"José","friend":"Fred"})"),
              HasSubstr("FRIENDS: no column rule finds a value"));
}

// Short values are written to the key at once, others by the template's own way.
TEST(MapperTest, KeysAreThoseOfTheTemplateHoweverTheyAreMade) {
  constexpr TimeUs kTime = 1'501'028'142'045'000;
  const std::string long_text(70, 'x');
  for (const std::string_view row_key :
       {"{k}#{ts:ms}", "{k:pad(8)}{ts:s}", "a{n:zero(6)}#{k}#{ts:us}", "{ts:reverse(ms)}#{k}",
        "{k}#{ts:bucket(5m)}", "{k}#{ts:day}#{n}", "{k}#{ts:%H%M}#{ts:%-d}#{n:zero(3)}",
        "{k:salt(5)}#{k}#{ts:ms}", "{k:reverse_domain}#{ts:week}"}) {
    World world(
        fmt::format("[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
                    "row_key = \"{}\"\nfamilies.F = {{}}\n",
                    row_key));
    std::set<std::string> keys;
    std::string events;
    for (const std::string_view k : {std::string_view("x"), std::string_view("x y"),
                                     std::string_view("a#b.c"), std::string_view(long_text)}) {
      if (row_key.find("pad") != std::string_view::npos && k == long_text) continue;
      for (const int64_t n : {0, 42, 777}) {
        events += fmt::format("{}{{\"k\":\"{}\",\"n\":{},\"ts\":{},\"v\":1}}",
                              events.empty() ? "[" : ",", k, n, kTime / 1000);
        keys.insert(Key(row_key, {{"k", Text(k)}, {"n", Value::Int(n)}}, kTime));
      }
    }
    world.Map(events + "]");
    std::string expected;
    for (const std::string& key : keys) expected += "T " + key + "\n";
    const std::string rows = std::regex_replace(world.Rows(), std::regex(" \\|.*"), "");
    EXPECT_EQ(rows, expected) << row_key;
  }
}

constexpr const char* kOneColumn = R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
columns = [
  { family = "f", fields = ["a", "b"], name = "{value}", value = "{field}" },
  { family = "f", fields = ["long"], rename = { long = "x" } },
  { family = "g", names = "compact" },
]
families.f = {}
families.g = {}
)";

TEST(MapperTest, TwoFieldsThatFallOnOneColumnRefuseTheEvent) {
  World world(kOneColumn);
  EXPECT_THAT(world.Refusal(R"({"k":"k","ts":1,"Bid":1,"BID":1})"),
              HasSubstr("0[BID] both field \"Bid\" and field \"BID\" fall on one column, "
                        "g:BID of T"));
  EXPECT_THAT(world.Refusal(R"({"k":"k","ts":1,"a":"q","b":"q"})"),
              HasSubstr("0[b] both field \"a\" and field \"b\" fall on one column, f:q of T"));
  world.Map(R"({"k":"k","ts":1,"Bid":1,"a":"p","b":"q"})");
  EXPECT_THAT(world.Rows(), HasSubstr("f:p='a'@1 f:q='b'@1 g:A='p'@1 g:B='q'@1 g:BID=1@1"));
}

TEST(MapperTest, AFieldInTheColumnOfARenamedOneRefusesTheEvent) {
  World world(kOneColumn);
  EXPECT_THAT(world.Refusal(R"({"k":"k","ts":1,"a":"x"})"),
              HasSubstr("0[a] both field \"long\" and field \"a\" fall on one column, f:x of T"));
  World renamed(R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
columns = [ { family = "f", rename = { long = "x" } } ]
families.f = {}
)");
  EXPECT_THAT(renamed.Refusal(R"({"k":"k","ts":1,"x":1})"),
              HasSubstr("0[x] both field \"long\" and field \"x\" fall on one column, f:x of T"));
  renamed.Map(R"({"k":"k","ts":1,"long":1,"y":2})");
  EXPECT_EQ(renamed.Rows(), "T k#0000000000001 | f:x=1@1 f:y=2@1\n");
}

TEST(MapperTest, ManyColumnsNamedByValuesAreStillDistinct) {
  World world(R"(
[tables.T]
stream = "s"
pattern = "new-column"
row_key = "{k}#{ts:ms}"
families.f = {}
)");
  const auto event = [](int values) {
    std::string text = "{\"k\":\"k\",\"ts\":1";
    for (int i = 0; i < 40; ++i) text += fmt::format(",\"v{}\":{}", i, 100 + i % values);
    return text + "}";
  };
  EXPECT_EQ(world.Map(event(40)).cells, 40u);
  EXPECT_THAT(world.Refusal(event(30)),
              HasSubstr("both field \"v0\" and field \"v30\" fall on one column, f:100 of T"));
}

TEST(MapperTest, TheSpellingOfACompactNameThatABatchHasLastIsRemembered) {
  World world(kOneColumn);
  world.Map(R"([{"k":"k","ts":1,"Bid size":1},{"k":"k","ts":2,"BID SIZE":1},
                {"k":"k","ts":3,"Bid size":1},{"k":"k","ts":4,"BIDSIZE":1,"long":[]}])");
  EXPECT_THAT(world.batch->spellings, testing::ElementsAre("Bid size"));
}

TEST(MapperTest, ASpellingIsNotedUntilTheStoreHasItAsTheLast) {
  World world(kOneColumn);
  const auto spellings = [&world](std::string_view field, uint64_t known) {
    world.store->fields = {{"Bid", TypeBit(ValueType::kInt64), known}};
    world.arrival += 1'000'000;  // The store is asked again.
    world.Map(fmt::format(R"({{"k":"k","ts":1,"{}":1}})", field));
    return world.batch->spellings.size();
  };
  EXPECT_EQ(spellings("Bid", 0), 1u);
  EXPECT_EQ(spellings("Bid", 0), 1u);  // The batch may have failed.
  EXPECT_EQ(spellings("Bid", 7), 0u);
  EXPECT_EQ(spellings("BID", 7), 1u);
  EXPECT_EQ(spellings("Bid", 7), 1u);  // The other is on its way.
}

TEST(MapperTest, SerializedFieldsAreOneCell) {
  World world(R"(
[tables.T]
stream = "s"
pattern = "single-timestamp-serialized"
row_key = "{k}#{ts:ms}"
columns = [ { family = "f", serialize = "json", name = "blob" } ]
families.f = {}
)");
  world.Map(R"({"k":"k","ts":1,"a":1,"b":{"c":2.0},"d":"q\"\n"})");
  EXPECT_EQ(world.Rows(),
            "T k#0000000000001 | f:blob='{\"a\":1,\"b/c\":2.0,\"d\":\"q\\\"\\u000a\"}'@1\n");
}

TEST(MapperTest, ExpiredFamiliesDoNotTakeTheEvent) {
  World world(R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
columns = [ { family = "short", fields = ["a"] }, { family = "long", fields = ["b"] } ]
families.short = { max_age = "1d" }
families.long = { max_age = "10d" }
)");
  const int64_t now_ms = World::kArrival / 1000;
  auto event = [&](int days) {
    return fmt::format(R"({{"k":"k","ts":{},"a":1,"b":2}})", now_ms - days * 86'400'000LL - 1);
  };
  MapOutcome outcome = world.Map(event(0));
  EXPECT_EQ(outcome.cells, 2u);
  EXPECT_EQ(outcome.expired, 0u);
  outcome = world.Map(event(1));
  EXPECT_EQ(outcome.cells, 1u);
  EXPECT_EQ(outcome.expired, 0u);
  EXPECT_THAT(world.Rows(), HasSubstr("| long:b=2@"));
  outcome = world.Map(event(10));
  EXPECT_EQ(outcome.expired, 1u);
  EXPECT_EQ(outcome.events, 1u);
  EXPECT_EQ(outcome.rows, 0u);
  EXPECT_TRUE(outcome.errors.empty());
  EXPECT_EQ(world.Rows(), "");
}

// A wall clock that jumped ahead must not refuse what is not too old.
TEST(MapperTest, AnEventIsExpiredOnlyWhenTheRetentionClockAgrees) {
  World world(R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.f = { max_age = "1d" }
)");
  const std::string event =
      fmt::format(R"({{"k":"k","ts":{},"a":1}})", World::kArrival / 1000 - 90'000'000);
  EXPECT_EQ(world.Map(event).expired, 1u);
  world.store->retention_now = World::kArrival - 10 * kUsPerDay;
  EXPECT_EQ(world.Map(event).expired, 0u);
  EXPECT_NE(world.Rows(), "");
}

TEST(MapperTest, LimitsRefuseTheEvent) {
  World world(R"(
[tables.T]
stream = "s"
pattern = "new-column"
row_key = "{k}"
columns = [ { family = "f", name = "{q}", value = "{v}" } ]
families.f = {}
)");
  auto event = [](size_t key, size_t qualifier) {
    return fmt::format(R"({{"k":"{}","q":"{}","v":1}})", std::string(key, 'k'),
                       std::string(qualifier, 'q'));
  };
  EXPECT_TRUE(world.Map(event(4096, 16384)).errors.empty());
  EXPECT_THAT(world.Refusal(event(4097, 1)), HasSubstr("row key in T would have 4097 bytes"));
  EXPECT_THAT(world.Refusal(event(1, 16385)), HasSubstr("name in T would have 16385 bytes"));
}

TEST(MapperTest, ARefusedEventLeavesNothingInAnyTable) {
  World world(R"(
[tables.A]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.f = {}
[tables.B]
stream = "s"
pattern = "single-timestamp"
row_key = "{n:zero(2)}#{ts:ms}"
families.f = {}
)");
  const MapOutcome outcome =
      world.Map(R"([{"k":"a","n":100,"ts":1,"v":1},{"k":"b","n":10,"ts":1,"v":1},[],)"
                R"({"k":"","n":1,"ts":1,"v":1}])");
  EXPECT_EQ(world.Rows(),
            "A b#0000000000001 | f:n=10@1 f:v=1@1\nB 10#0000000000001 | f:k='b'@1 f:v=1@1\n");
  ASSERT_EQ(outcome.errors.count(), 3u);
  EXPECT_EQ(outcome.errors.kept()[0].index, 0u);
  EXPECT_EQ(outcome.errors.kept()[1].index, 2u);
  EXPECT_EQ(outcome.errors.kept()[2].index, 3u);
  EXPECT_EQ(outcome.events, 1u);
}

TEST(MapperTest, AFieldThatOnlyASaltUsesIsStored) {
  World world(R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "B#{user:salt(3)}#{ts:ms}"
families.f = {}
)");
  world.Map(R"({"user":"Jo","ts":1,"v":1})");
  EXPECT_THAT(world.Rows(), HasSubstr("| f:user='Jo'@1 f:v=1@1"));
}

TEST(MapperTest, NewFieldsAreRememberedUntilTheStoreKnowsThem) {
  World world(kServer);
  world.Map(R"([{"hostname":"a","ts":1,"v":1},{"hostname":"a","ts":2,"v":2},)"
            R"({"hostname":"a","ts":3,"v":0.5}])");
  EXPECT_EQ(world.batch->added, 4u);
  EXPECT_EQ(world.batch->fields.at("v"), TypeBit(ValueType::kInt64) | TypeBit(ValueType::kFloat64));
  world.Map(R"({"hostname":"a","ts":1,"v":1})");
  EXPECT_EQ(world.batch->added, 3u) << "the batch before may have failed";
  for (const auto& [name, types] : world.batch->fields)
    world.store->fields.push_back({name, types});

  World later(kServer);
  later.store->fields = world.store->fields;
  later.mappers["server"] =
      std::make_unique<Mapper>(later.schema, *later.schema->FindStream("server"), *later.store);
  later.Map(R"({"hostname":"a","ts":1,"v":1})");
  EXPECT_EQ(later.batch->added, 0u);
  later.Map(R"({"hostname":"a","ts":1,"v":"x"})");
  EXPECT_EQ(later.batch->added, 1u);
}

TEST(MapperTest, StreamsOfOneRequestAddUp) {
  World world(std::string(kServer) + kSensor);
  MapOutcome both = world.Map(R"([{"hostname":"a","ts":1,"v":1},{"ts":2,"v":1}])", "server");
  both.Add(world.Map(R"({"meter":1,"ts":1,"value":1})", "meter"));
  EXPECT_EQ(both.events, 2u);
  EXPECT_EQ(both.rows, 3u);
  EXPECT_EQ(both.cells, 4u);
  EXPECT_EQ(both.errors.count(), 1u);
}

TEST(MapperTest, AStringThatSpellsANumberIsRemembered) {
  World world(kServer);
  const auto types_of_v = [&](const std::string& value) {
    world.Map(R"({"hostname":"a","ts":1,"v":)" + value + "}");
    return world.batch->fields.at("v");
  };
  EXPECT_EQ(types_of_v(R"("x")"), TypeBit(ValueType::kString));
  EXPECT_EQ(types_of_v(R"("0987")"), TypeBit(ValueType::kString)) << "as text it stays one";
  EXPECT_EQ(types_of_v(R"("987")"), TypeBit(ValueType::kString) | kNumberTextBit);
  EXPECT_EQ(types_of_v("987"), TypeBit(ValueType::kInt64));
}

TEST(MapperTest, WhatATableMissesIsRememberedUntilTheStoreKnowsIt) {
  World world(R"(
[tables.ALL]
stream = "s"
pattern = "single-timestamp"
row_key = "{h}#{ts:ms}"
families.F = {}
[tables.SOME]
stream = "s"
pattern = "single-timestamp"
when = ["a"]
row_key = "{h}#{ts:ms}"
columns = [{ family = "F", fields = ["a"] }, { family = "F", name = "c", value = "{b}|{c}" }]
families.F = {}
)");
  using Missed = std::map<std::string, uint8_t>;
  world.Map(R"([{"h":"x","ts":1,"a":1,"b":1,"c":1,"d":1},{"h":"x","ts":2,"a":1}])");
  EXPECT_EQ(world.batch->missed, Missed());
  world.Map(R"([{"h":"x","ts":1,"a":1,"b":1},{"h":"x","ts":2,"c":1}])");
  EXPECT_EQ(
      world.batch->missed,
      (Missed{{"SOME.b", kMissedInside}, {"SOME.c", kMissedOutside}, {"SOME.h", kMissedOutside}}));
  world.Map(R"({"h":"x","ts":1,"a":1,"b":1})");
  EXPECT_EQ(world.batch->missed.size(), 1u) << "the batch before may have failed";
  world.store->missed = {{"b", kMissedInside, 1}};
  world.mappers["s"] =
      std::make_unique<Mapper>(world.schema, *world.schema->FindStream("s"), *world.store);
  world.Map(R"({"h":"x","ts":1,"a":1,"b":1})");
  EXPECT_EQ(world.batch->missed, Missed());
}

TEST(MapperTest, ThreadsShareAMapper) {
  World world(kServer);
  Mapper& mapper = *world.mappers.at("server");
  std::vector<std::jthread> threads;
  std::atomic<size_t> cells = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      EventDecoder decoder;
      EventBatch events;
      for (int i = 0; i < 200; ++i) {
        const Padded body(fmt::format(R"([{{"hostname":"a","ts":{0},"f{1}":1}},
                                          {{"f{2}":1.5,"hostname":"b","ts":{0}}}])",
                                      i, i % 7, i % 11));
        RecordingBatch batch;
        const bool decoded =
            decoder.Decode(*FindBodyFormat(""), body.view(), world.shapes, &events).has_value();
        ASSERT_TRUE(decoded);
        cells += mapper.Map(events, World::kArrival + i * 1'000'000, &batch).cells;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(cells, 4u * 200 * 4);
}

TEST(MapperTest, RefusedEventsTeachNoFields) {
  World world(kServer);
  world.Map(R"({"hostname":"","ts":1,"v":1})");
  EXPECT_EQ(world.batch->added, 0u);
}

constexpr const char* kDonation = R"(
[tables.CHARITY]
stream = "donation"
pattern = "aggregate"
row_key = "{charity}"
families.days = { aggregate = "sum", bucket = "1d" }
families.hours = { aggregate = "max", bucket = "1h" }
families.donors = { aggregate = "hll" }
columns = [
  { family = "days", name = "{campaign}", value = "{amount}" },
  { family = "hours", fields = ["amount"] },
  { family = "donors", fields = ["donor"] },
]
)";

// However many tables a stream has: a short body of many small events must not take their product.
TEST(MapperTest, RoomIsMadeForTheTablesThatTakeTheEventsAndWithinBounds) {
  std::string tables;
  for (int i = 0; i < 20; ++i) {
    tables += fmt::format(
        "[tables.T{}]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
        "row_key = \"{{k}}#{{ts:ms}}\"\nwhen = [\"f{}\"]\nfamilies.F = {{}}\n",
        i, i / 2);
  }
  World world(tables);
  const std::string event = R"({"k":"a","ts":1,"f3":1})";
  EXPECT_EQ(world.Map("[" + event + "," + event + "]").rows, 2u);
  EXPECT_EQ(world.batch->expected, 4u);
  std::string many = "[" + event;
  for (int i = 1; i < 20'000; ++i) many += "," + event;
  EXPECT_EQ(world.Map(many + "]").events, 20'000u);
  EXPECT_LT(world.batch->expected, 10'000u);
}

TEST(AggregateMapperTest, AnEventIsAnInputOfTheCellsThatItsTimeFallsInto) {
  World world(kDonation);
  const MapOutcome outcome = world.Map(
      R"([{"charity":"ch1","campaign":"c7","amount":25,"ts":"2021-03-05T09:30:00Z"},
          {"charity":"ch1","campaign":"c7","amount":40,"ts":"2021-03-05T09:59:59Z"}])");
  EXPECT_EQ(world.Errors(outcome), "");
  EXPECT_EQ(world.Rows(), "CHARITY ch1 | hours:amount=40@1614934800000 days:c7=65@1614902400000\n");
  EXPECT_EQ(outcome.rows, 1u);
  EXPECT_EQ(outcome.cells, 2u);
  EXPECT_TRUE(world.batch->missed.empty()) << "it never claims to hold what events brought";
}

TEST(AggregateMapperTest, WithoutABucketTheTimeIsTheEvents) {
  World world(kDonation);
  world.Map(R"({"charity":"ch1","donor":"a","ts":1614934800001})");
  EXPECT_EQ(world.Rows(), "CHARITY ch1 | donors:donor=<6 bytes>@1614934800001\n");
}

TEST(AggregateMapperTest, AnInputOfAnotherTypeRefusesTheEventNamingFieldFamilyAndWhatIsAccepted) {
  World world(kDonation);
  EXPECT_EQ(
      world.Refusal(R"({"charity":"ch1","campaign":"c7","amount":"25","ts":1})"),
      "0[amount] field \"amount\": family days of CHARITY: it is of type string; sum takes an "
      "int64 (a whole number)\n");
  EXPECT_THAT(world.Refusal(R"({"charity":"ch1","campaign":"c7","amount":2.5,"ts":1})"),
              HasSubstr("float64"));
  EXPECT_THAT(world.Refusal(R"({"charity":"ch1","donor":7,"ts":1})"),
              HasSubstr("family donors of CHARITY: it is of type int64; hll takes a string"));
  EXPECT_EQ(world.batch->puts_with_set + world.batch->puts_by_name, 0u);
}

TEST(AggregateMapperTest, AnEventWhoseCellIsPastItsAgeIsExpired) {
  World world(R"([tables.T]
pattern = "aggregate"
row_key = "{k}"
families.F = { aggregate = "sum", bucket = "1d", max_age = "2d" }
)");
  const TimeUs today = World::kArrival / kUsPerDay * kUsPerDay;
  const auto at = [](TimeUs time) {
    return R"({"k":"a","n":1,"ts":)" + std::to_string(time / kUsPerMs) + "}";
  };
  EXPECT_EQ(world.Map(at(today - kUsPerDay)).expired, 0u);
  EXPECT_EQ(world.Map(at(today - kUsPerDay - kUsPerMs)).expired, 1u) << "its cell begins before";
}

}  // namespace
}  // namespace tallyd

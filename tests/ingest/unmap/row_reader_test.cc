#include "ingest/unmap/row_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ingest/reading.h"
#include "tests/ingest/world.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

std::string OneTable(const std::string& pattern, const std::string& row_key,
                     const std::string& columns = "") {
  return fmt::format(
      "[tables.T]\nstream = \"s\"\npattern = \"{}\"\nrow_key = \"{}\"\n{}\n"
      "families.f = {{}}\n",
      pattern, row_key, columns.empty() ? "" : "columns = [" + columns + "]");
}

TEST(SaysOtherwiseTest, WhatIsSpeltAlikeSaysTheSame) {
  EXPECT_FALSE(SaysOtherwise(Value::Int(94103), Value::Int(94103)));
  EXPECT_FALSE(SaysOtherwise(Value::Int(94103), Value::String("94103")));
  EXPECT_FALSE(SaysOtherwise(Value::String("true"), Value::Bool(true)));
  EXPECT_FALSE(SaysOtherwise(Value::Double(0.5), Value::Decimal(5, 1)));
  EXPECT_TRUE(SaysOtherwise(Value::Int(94103), Value::String("094103")));
  EXPECT_TRUE(SaysOtherwise(Value::Int(1), Value::Int(2)));
  EXPECT_TRUE(SaysOtherwise(Value::String("a"), Value::String("b")));
}

TEST(RowReaderTest, HistoryGivesTheEventsBack) {
  World world(OneTable("single-timestamp", "{host}#{ts:ms}"));
  world.Map(R"([{"host":"a","ts":2,"CPU":{"x":0.02,"y":1},"up":true,"s":"text"},
                {"host":"b#%","ts":1,"CPU":{"x":3}}])");
  EXPECT_EQ(Reading(world, "T").Events(),
            "1 CPU/x=3 host='b#%'\n2 CPU/x=0.02 CPU/y=1 host='a' s='text' up=true\n");
}

TEST(RowReaderTest, KeyFieldsComeBackTyped) {
  World world(OneTable("single-timestamp",
                       "{n:zero(6)}#{p:pad(4)}#{d:reverse_domain}#{r:reverse_digits}#{x}#{ts:ms}"));
  world.Map(R"({"n":42,"p":"ab","d":"drive.google.com","r":1230,"x":1.5,"ts":1,"v":1})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 d='drive.google.com' n=42 p='ab' r=1230 v=1 x=1.5\n");
}

TEST(RowReaderTest, ACellGivesAPromotedFieldItsOwnType) {
  World world(
      OneTable("single-timestamp", "{k}#{ts:ms}", "{family = \"f\", fields = [\"k\", \"v\"]}"));
  world.Map(R"({"k":"0042","ts":1,"v":1})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 k='0042' v=1\n");
  world.Map(R"({"k":"42","ts":1,"v":1})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 k='42' v=1\n");
}

TEST(RowReaderTest, SaltsAndTimesOfTheKeyAreNoFields) {
  World world(OneTable("single-timestamp", "{ts:salt(3)}#{u:salt(2)}#{k}#{ts:ms}"));
  world.Map(R"([{"k":"a","u":"x","ts":1,"v":1},{"k":"a","u":"y","ts":2,"v":1}])");
  EXPECT_EQ(Reading(world, "T").Events(), "1 k='a' u='x' v=1\n2 k='a' u='y' v=1\n");
}

TEST(RowReaderTest, OneRowPerFieldGivesFragmentsOfOneEvent) {
  World world(OneTable("new-column", "{location}#{balloon}#{field}#{ts:week}"));
  world.Map(R"([{"location":"us","balloon":3698,"ts":60000,"pressure":94558,"temp":9.5},
                {"location":"us","balloon":3698,"ts":120000,"pressure":94122,"temp":9.4}])");
  EXPECT_EQ(Reading(world, "T").Events(),
            "60000 balloon=3698 location='us' pressure=94558 temp=9.5\n"
            "120000 balloon=3698 location='us' pressure=94122 temp=9.4\n");
  EXPECT_EQ(Reading(world, "T", {"temp"}).Events(),
            "60000 balloon=3698 location='us' temp=9.5\n"
            "120000 balloon=3698 location='us' temp=9.4\n");
}

TEST(RowReaderTest, TwoReadingsAtOneTimeAreTwoEvents) {
  World world(OneTable("new-column", "{k}#{field}#{ts:day}"));
  world.Map(R"([{"k":"a","ts":1,"p":1},{"k":"a","ts":1,"p":2}])");
  EXPECT_EQ(Reading(world, "T").Events(), "1 k='a' p=1\n1 k='a' p=2\n");
}

TEST(RowReaderTest, ColumnsNamedByTimeGiveTheirReading) {
  World world(OneTable("new-column", "{meter:zero(10)}#{ts:day}",
                       "{family = \"f\", name = \"ID\", value = \"{meter}\"},"
                       "{family = \"f\", name = \"{ts:%H%M}\", value = \"{value}\"}"));
  world.Map(R"([{"meter":987654,"ts":"2017-07-26T00:00:00Z","value":12.34},
                {"meter":987654,"ts":"2017-07-26T23:45:00Z","value":28.90}])");
  EXPECT_EQ(Reading(world, "T").Events(),
            "1501027200000 meter=987654 value=12.34\n1501112700000 meter=987654 value=28.9\n");
  const Reading selected(world, "T", {"value"});
  EXPECT_EQ(selected.Patterns(), "f:* ");
  EXPECT_THAT(selected.Events(), HasSubstr("1501027200000 meter=987654 value=12.34\n"));
}

TEST(RowReaderTest, QualifiersThatAreDataGiveBothFields) {
  World world(
      OneTable("latest", "{person}", "{family = \"f\", name = \"{friend}\", value = \"{how}\"}"));
  world.Map(R"([{"person":"José","ts":1,"friend":"Fred","how":"book club"},
                {"person":"José","ts":1,"friend":"Gabriel","how":"work"}])");
  EXPECT_EQ(Reading(world, "T").Events(),
            "1 friend='Fred' how='book club' person='José'\n"
            "1 friend='Gabriel' how='work' person='José'\n");
}

TEST(RowReaderTest, RenamesAreUndone) {
  World world(OneTable(
      "single-timestamp", "{k}#{ts:ms}",
      "{family = \"f\", fields = [\"Bid size\", \"Ask*\"], names = \"compact\"},"
      "{family = \"f\", fields = [\"CELLPHONE_NUMBER\"], rename = {CELLPHONE_NUMBER = \"CELL\"}}"));
  world.Map(R"({"k":"a","ts":1,"Bid size":500,"Ask size":7,"CELLPHONE_NUMBER":"+34"})");
  EXPECT_THAT(world.Rows(), HasSubstr("f:ASKSIZE=7@1 f:BIDSIZE=500@1 f:CELL='+34'@1"));
  EXPECT_EQ(Reading(world, "T").Events(),
            "1 Ask size=7 Bid size=500 CELLPHONE_NUMBER='+34' k='a'\n");
  EXPECT_EQ(Reading(world, "T", {"CELL*", "Bid size"}).Patterns(), "f:BIDSIZE f:CELL ");
}

TEST(RowReaderTest, BlobsAreOpened) {
  for (const char* how : {"protobuf", "json", "cbor"}) {
    World world(OneTable("single-timestamp-serialized", "{k}#{ts:week}",
                         fmt::format("{{family = \"f\", serialize = \"{}\"}}", how)));
    world.Map(R"([{"k":"a","ts":1,"i":-3,"d":2.0,"b":false,"s":"q\"é"},{"k":"a","ts":2,"i":4}])");
    EXPECT_EQ(Reading(world, "T").Events(), "1 b=false d=2.0 i=-3 k='a' s='q\"é'\n2 i=4 k='a'\n")
        << how;
    EXPECT_EQ(Reading(world, "T", {"d"}).Events(), "1 d=2.0 k='a'\n") << how;
  }
}

TEST(RowReaderTest, TemplatesOfSeveralPartsAreTakenApart) {
  World world(OneTable("single-timestamp", "{k}#{ts:ms}",
                       "{family = \"f\", name = \"{a}-{b}\", value = \"{c}/{d}\"}"));
  world.Map(R"({"k":"a","ts":1,"a":"x","b":7,"c":1.5,"d":"y"})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 a='x' b=7 c=1.5 d='y' k='a'\n");
}

TEST(RowReaderTest, SelectedFieldsAndKeyFieldsComeBack) {
  World world(OneTable("single-timestamp", "{host}#{ts:ms}"));
  world.Map(R"([{"host":"a","ts":1,"CPU":{"x":1,"y":2},"IO":3},{"host":"a","ts":2,"IO":4}])");
  const Reading cpu(world, "T", {"CPU/*"});
  EXPECT_EQ(cpu.Events(), "1 CPU/x=1 CPU/y=2 host='a'\n");
  EXPECT_EQ(cpu.Patterns(), "f:CPU/* ");
  const Reading host(world, "T", {"host"});
  EXPECT_EQ(host.Patterns(), "");
  EXPECT_EQ(host.Events(), "1 host='a'\n2 host='a'\n");
}

TEST(RowReaderTest, KeysThatTheTemplateCannotMakeAreCounted) {
  World world(OneTable("single-timestamp", "{host}#{ts:ms}"));
  const Table& table = *world.schema->FindTable("T");
  FieldTable fields;
  RowReader reader(table, world.store->FindTable("T"), {}, &fields);
  Row row;
  row.key = "no time";
  EXPECT_FALSE(reader.BeginRow(row));
  EXPECT_EQ(reader.unreadable_rows(), 1u);
}

TEST(RowReaderTest, EventsWithoutAFieldToTellAreStillEvents) {
  World world(OneTable("new-column", "{k}#{ts:day}",
                       "{family = \"f\", name = \"{ts:%H%M}\", value = \"x\"}"));
  world.Map(R"({"k":"a","ts":60000})");
  EXPECT_EQ(Reading(world, "T").Events(), "60000 k='a'\n");
}

TEST(RowReaderTest, AReadingWhoseFieldOnlyItsRuleTellsComesBack) {
  World only(OneTable("new-column", "{k}#{ts:day}", "{family = \"f\", fields = [\"p\"]}"));
  only.Map(R"({"k":"a","ts":1,"p":5,"q":6})");
  EXPECT_EQ(Reading(only, "T").Events(), "1 k='a' p=5\n");
}

TEST(RowReaderTest, ASaltOfTheFieldsNameDoesNotHideTheName) {
  World world(OneTable("new-column", "{k}#{field}#{field:salt(2)}#{ts:week}"));
  world.Map(R"({"k":"a","ts":1,"p":5})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 k='a' p=5\n");
}

TEST(RowReaderTest, ASecondTimeOfTheKeyIsAMeasuredField) {
  World world(OneTable("single-timestamp", "{k}#{due:day}#{ts:ms}"));
  world.Map(R"({"k":"a","ts":1,"due":86400000,"v":1})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 due=86400000 k='a' v=1\n");
  EXPECT_EQ(Reading(world, "T", {"due"}).Patterns(), "f:due ");
}

}  // namespace
}  // namespace tallyd

#include "ingest/unmap/rule_inverse.h"

#include <gtest/gtest.h>

#include "tests/ingest/reading.h"
#include "tests/ingest/world.h"

namespace tallyd {
namespace {

World OneTable(const std::string& row_key, const std::string& columns) {
  return World("[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"" +
               row_key + "\"\ncolumns = [" + columns + "]\nfamilies.f = {}\n");
}

TEST(RuleInverseTest, AColumnComesBackUnderTheSpellingSeenLast) {
  World world = OneTable("{k}#{ts:ms}", "{ family = \"f\", names = \"compact\" }");
  const Table& table = *world.schema->FindTable("T");
  const TablePtr stored = world.store->FindTable("T");
  const std::vector<std::string> fields = {"k", "BID SIZE", "Ask", "Bid size"};
  const RuleInverse inverse(table, *stored, fields);
  EXPECT_EQ(inverse.Read({0, "BIDSIZE"}).field, "Bid size");
  EXPECT_EQ(inverse.Read({0, "ASK"}).field, "Ask");
  EXPECT_EQ(inverse.Read({0, "NEW"}).field, "NEW");
}

TEST(RuleInverseTest, WhereTheKeyNamesTheFieldAColumnsNameDoesNot) {
  World world = OneTable("{k}#{field}#{ts:ms}", "{ family = \"f\", rename = { a = \"b\" } }");
  world.Map(R"({"k":"x","ts":1,"a":1,"b":2})");
  EXPECT_EQ(Reading(world, "T").Events(), "1 a=1 b=2 k='x'\n");
}

TEST(RuleInverseTest, ANameThatAFieldHasGivenUpIsThatOfWhoTookIt) {
  for (const char* const taken : {"rename = { c = \"a\" }", "name = \"a\""}) {
    World world = OneTable(
        "{k}#{ts:ms}", std::string("{ family = \"f\", fields = [\"a\"], rename = { a = \"b\" } },"
                                   "{ family = \"f\", fields = [\"c\"], ") +
                           taken + " }");
    world.Map(R"({"k":"x","ts":1,"a":1,"c":3})");
    EXPECT_EQ(Reading(world, "T").Events(), "1 a=1 c=3 k='x'\n") << taken;
  }
}

TEST(RuleInverseTest, WhatWasWrittenBeforeItsFieldWasRenamedIsReadAsThatField) {
  World world = OneTable("{k}#{ts:ms}", "{ family = \"f\", rename = { a = \"b\" } }");
  const std::vector<std::string> fields = {"a"};
  const RuleInverse inverse(*world.schema->FindTable("T"), *world.store->FindTable("T"), fields);
  EXPECT_EQ(inverse.Read({0, "a"}).field, "a");
  EXPECT_EQ(inverse.Read({0, "b"}).field, "a");
}

}  // namespace
}  // namespace tallyd

#include "storage/bigtable/catalogue/file_print.h"

#include <gtest/gtest.h>

#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

using Names = std::vector<std::string>;

Table TableOf(const std::string& stream, const std::string& name) {
  Table table = MakeTable(name);
  table.stream = stream;
  return table;
}

Schema OfGeneration(uint64_t generation, Schema schema) {
  schema.generation = generation;
  return schema;
}

TEST(FilePrint, TakesTheOrderInWhichAFileNamesThingsForNoDifference) {
  const Schema one = MakeSchema({MakeTable("H"), MakeTable("N")});
  const Schema other = MakeSchema({MakeTable("N"), MakeTable("H")});
  EXPECT_EQ(PrintOfFile(one).all, PrintOfFile(other).all);
  EXPECT_EQ(PrintOfFile(one).streams, PrintOfFile(other).streams);
  Schema aged = one;
  aged.tables[0].families[0].max_age_us = kUsPerDay;
  EXPECT_NE(PrintOfFile(one).all, PrintOfFile(aged).all);
}

TEST(FilePrint, TakesNightlyTablesForNoPartOfTheFileAndTheirMakingForOne) {
  Schema one = MakeSchema({MakeTable("H")});
  one.tables[0].daily = *ParseDailyName("H_{date}");
  Schema other = one;
  other.tables.push_back(MakeTable("H_20170726"));
  other.tables[1].nightly = NightlyOf{"H", 0};
  EXPECT_EQ(PrintOfFile(one).all, PrintOfFile(other).all);
  EXPECT_EQ(PrintOfFile(one).streams, PrintOfFile(other).streams);
  other.tables[0].daily->keep_us = kUsPerDay;
  EXPECT_NE(PrintOfFile(one).all, PrintOfFile(other).all);
}

TEST(FilePrint, TellsTheStreamsOfWhichTablesOrLabelsDiffer) {
  const Schema own = MakeSchema({TableOf("a", "A"), TableOf("b", "B"), TableOf("c", "C")});
  Schema other = MakeSchema({TableOf("a", "A"), TableOf("b", "B"), TableOf("d", "D")});
  EXPECT_EQ(DifferingStreams(PrintOfFile(own), PrintOfFile(other)), Names{"c"});
  other.tables[1].families[0].max_versions = 3;
  EXPECT_EQ(DifferingStreams(PrintOfFile(own), PrintOfFile(other)), (Names{"b", "c"}));
  Schema labelled = own;
  labelled.streams[0].labels = {"host"};
  EXPECT_EQ(DifferingStreams(PrintOfFile(own), PrintOfFile(labelled)), Names{"s"});
}

TEST(FilePrint, OfFilesWithGenerationsNoOlderOneTakesThePlaceOfAnother) {
  const Schema file = MakeSchema({MakeTable("H")});
  const Schema changed = MakeSchema({MakeTable("H"), MakeTable("N")});
  const auto may = [](const Schema& own, const Schema& in_force) {
    return CheckGeneration(PrintOfFile(own), PrintOfFile(in_force)).has_value();
  };
  EXPECT_TRUE(may(OfGeneration(3, changed), OfGeneration(2, file)));
  EXPECT_TRUE(may(OfGeneration(3, file), OfGeneration(2, file)));
  EXPECT_TRUE(may(OfGeneration(2, file), OfGeneration(2, file)));
  EXPECT_FALSE(may(OfGeneration(2, changed), OfGeneration(2, file)));
  EXPECT_FALSE(may(OfGeneration(1, changed), OfGeneration(2, file)));
  EXPECT_FALSE(may(OfGeneration(1, file), OfGeneration(2, file)));
  EXPECT_TRUE(may(OfGeneration(1, changed), file)) << "the one in force says none";
  EXPECT_TRUE(may(changed, file)) << "neither says any";
  EXPECT_TRUE(may(file, OfGeneration(2, file)));
  EXPECT_FALSE(may(changed, OfGeneration(2, file))) << "one that says none is older than any";
  const Status older =
      CheckGeneration(PrintOfFile(OfGeneration(1, changed)), PrintOfFile(OfGeneration(2, file)));
  EXPECT_EQ(older.error().code(), ErrorCode::kConflict);
  EXPECT_NE(older.error().message().find("storage.bigtable.generation: 1"), std::string::npos);
}

}  // namespace
}  // namespace tallyd

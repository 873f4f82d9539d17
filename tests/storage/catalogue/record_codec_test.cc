// The records of streams and tables: they come back, and nothing else passes for one.
#include "storage/catalogue/record_codec.h"

#include <gtest/gtest.h>

#include "tests/storage/bytes/hostile_bytes.h"

namespace tallyd {
namespace {

TableInfo SomeTable() {
  TableInfo table;
  table.mode = TableMode::kLatestRow;
  table.name = "T";
  table.stream = "s";
  table.pattern = "new-cell";
  table.row_key = "{a}#{time}";
  table.families.resize(2);
  table.families[0].name = "F";
  table.families[0].configured = true;
  table.families[1].name = "G";
  return table;
}

TEST(RecordCodecTest, WhatAFamilyIsComesBackAndAnUnknownKindDoesNot) {
  TableInfo table = SomeTable();
  for (const AggregateInfo& info : kAggregates) {
    for (const std::optional<int64_t> bucket :
         {std::optional<int64_t>(), std::optional(kUsPerDay)}) {
      table.families[1].last.aggregate = info.kind;
      table.families[1].last.bucket_us = bucket;
      const std::string record = EncodeTable(table);
      const Result<TableInfo> read = DecodeTable(record);
      ASSERT_TRUE(read);
      EXPECT_TRUE(SameKind(read->families[1].last, table.families[1].last));
      EXPECT_FALSE(read->families[0].last.aggregate);
      ExpectOnlyWholeReads(record, DecodeTable);
    }
  }
  table.families[1].last.aggregate = static_cast<Aggregate>(kAggregates.size() + 1);
  EXPECT_FALSE(DecodeTable(EncodeTable(table)));
  table.families[1].last.aggregate = Aggregate::kSum;
  table.families[1].last.bucket_us = 0;
  EXPECT_FALSE(DecodeTable(EncodeTable(table))) << "no time can be divided by it";
}

TEST(RecordCodecTest, ATableComesBackAsFarAsItIsStored) {
  const TableInfo table = SomeTable();
  const Result<TableInfo> read = DecodeTable(EncodeTable(table));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->mode, table.mode);
  EXPECT_EQ(read->name, table.name);
  EXPECT_EQ(read->stream, table.stream);
  EXPECT_EQ(read->pattern, table.pattern);
  EXPECT_EQ(read->row_key, table.row_key);
  ASSERT_EQ(read->families.size(), 2u);
  EXPECT_EQ(read->families[1].name, "G");
}

TEST(RecordCodecTest, AStreamComesBack) {
  const StoredStream plain{TimeUnit::kNanoseconds, {}};
  EXPECT_EQ(EncodeStream(plain), (std::string{1, 3})) << "as before there were labels";
  EXPECT_EQ(DecodeStream(EncodeStream(plain)).value(), plain);
  const StoredStream labelled{TimeUnit::kMilliseconds, {"h", "r*"}};
  EXPECT_EQ(EncodeStream(labelled), std::string("\2\1\2\1h\2r*"));
  EXPECT_EQ(DecodeStream(EncodeStream(labelled)).value(), labelled);
}

TEST(RecordCodecTest, OnlyWholeRecordsOfThisVersionAreRead) {
  ExpectOnlyWholeReads(EncodeStream({TimeUnit::kMilliseconds, {}}), DecodeStream);
  ExpectOnlyWholeReads(EncodeStream({TimeUnit::kMilliseconds, {"host", "r"}}), DecodeStream);
  ExpectOnlyWholeReads(EncodeTable(SomeTable()), DecodeTable);
}

TEST(RecordCodecTest, NumbersThatAreNotListedAreRefused) {
  std::string stream = EncodeStream({TimeUnit::kNanoseconds, {}});
  ++stream[1];
  EXPECT_FALSE(DecodeStream(stream)) << "a unit";
  std::string table = EncodeTable(SomeTable());
  table[1] = 3;
  EXPECT_FALSE(DecodeTable(table)) << "a mode";
}

TEST(RecordCodecTest, TheErrorNamesTheRecord) {
  EXPECT_NE(DecodeTable("").error().message().find("a table"), std::string::npos);
}

TEST(RecordCodecTest, DamagedRecordsAreRefusedOrRead) {
  DamageManyTimes(EncodeTable(SomeTable()), [](std::string_view bytes) {
    DecodeStream(bytes).has_value();
    DecodeTable(bytes).has_value();
  });
}

}  // namespace
}  // namespace tallyd

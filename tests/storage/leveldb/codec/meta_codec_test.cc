// The small records of the database: they come back, and nothing else passes for one.
#include "storage/leveldb/codec/meta_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/storage/leveldb/codec/hostile_bytes.h"

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

DeleteSpec SomeDelete() {
  DeleteSpec what;
  what.rows = {"a", std::string("b\0c", 3)};
  what.cells = {5, 300};
  what.family = FamilyId{1};
  what.qualifier = "q";
  return what;
}

template <class Decode>
void ExpectOnlyWholeReads(const std::string& record, const Decode& decode) {
  EXPECT_TRUE(decode(record));
  for (size_t cut = 0; cut < record.size(); ++cut) {
    const auto refused = decode(record.substr(0, cut));
    ASSERT_FALSE(refused) << cut;
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  }
  EXPECT_FALSE(decode(record + '\0')) << "nothing may be left over";
  std::string newer = record;
  ++newer[0];
  EXPECT_FALSE(decode(newer)) << "what a newer tallyd wrote";
}

TEST(MetaCodecTest, WhatAFamilyIsComesBackAndAnUnknownKindDoesNot) {
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

TEST(MetaCodecTest, ATableComesBackAsFarAsItIsStored) {
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

TEST(MetaCodecTest, AColumnSetComesBackInItsOrder) {
  const std::vector<Column> columns = {{2, "b"}, {0, ""}, {0, std::string("a\0", 2)}};
  const Result<std::vector<Column>> read = DecodeColumnSet(EncodeColumnSet(columns));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, columns);
}

TEST(MetaCodecTest, ADeleteComesBackWithTheTimeOfItsCommit) {
  for (const bool has_family : {true, false}) {
    for (const bool has_qualifier : {true, false}) {
      DeleteSpec what = SomeDelete();
      if (!has_family) what.family.reset();
      if (!has_qualifier) what.qualifier.reset();
      TimeUs at = 0;
      const Result<DeleteSpec> read = DecodeDelete(EncodeDelete(what, 77), &at);
      ASSERT_TRUE(read);
      EXPECT_EQ(read->rows, what.rows);
      EXPECT_EQ(read->cells.from, what.cells.from);
      EXPECT_EQ(read->cells.to, what.cells.to);
      EXPECT_EQ(read->family, what.family);
      EXPECT_EQ(read->qualifier, what.qualifier);
      EXPECT_EQ(at, 77);
    }
  }
}

TEST(MetaCodecTest, ADeleteOfAllTimesCoversThemAll) {
  DeleteSpec what;
  what.cells.from = std::numeric_limits<TimeUs>::min();
  what.cells.to = std::numeric_limits<TimeUs>::max();
  TimeUs at = 0;
  const Result<DeleteSpec> read = DecodeDelete(EncodeDelete(what, -1), &at);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->cells.Contains(0));
  EXPECT_TRUE(read->cells.Contains(kMaxTimeUs));
  EXPECT_EQ(at, 0);
}

TEST(MetaCodecTest, SmallRecordsComeBack) {
  EXPECT_EQ(DecodeFormat(EncodeFormat(kFormatVersion)).value(), kFormatVersion);
  const StoredStream plain{TimeUnit::kNanoseconds, {}};
  EXPECT_EQ(EncodeStream(plain), (std::string{1, 3})) << "as before there were labels";
  EXPECT_EQ(DecodeStream(EncodeStream(plain)).value(), plain);
  const StoredStream labelled{TimeUnit::kMilliseconds, {"h", "r*"}};
  EXPECT_EQ(EncodeStream(labelled), std::string("\2\1\2\1h\2r*"));
  EXPECT_EQ(DecodeStream(EncodeStream(labelled)).value(), labelled);
  EXPECT_EQ(DecodeField(EncodeField({0x2a, 7})).value(), (FieldMarks{0x2a, 7}));
}

TEST(MetaCodecDamageTest, OnlyWholeRecordsOfThisVersionAreRead) {
  ExpectOnlyWholeReads(EncodeFormat(kFormatVersion), DecodeFormat);
  ExpectOnlyWholeReads(EncodeStream({TimeUnit::kMilliseconds, {}}), DecodeStream);
  ExpectOnlyWholeReads(EncodeStream({TimeUnit::kMilliseconds, {"host", "r"}}), DecodeStream);
  ExpectOnlyWholeReads(EncodeTable(SomeTable()), DecodeTable);
  ExpectOnlyWholeReads(EncodeColumnSet({{0, "a"}, {1, "b"}}), DecodeColumnSet);
  ExpectOnlyWholeReads(EncodeField({4, 0}), DecodeField);
  ExpectOnlyWholeReads(EncodeDelete(SomeDelete(), 7), [](std::string_view record) {
    TimeUs at = 0;
    return DecodeDelete(record, &at);
  });
}

TEST(MetaCodecDamageTest, NumbersThatAreNotListedAreRefused) {
  std::string stream = EncodeStream({TimeUnit::kNanoseconds, {}});
  ++stream[1];
  EXPECT_FALSE(DecodeStream(stream)) << "a unit";
  std::string table = EncodeTable(SomeTable());
  table[1] = 3;
  EXPECT_FALSE(DecodeTable(table)) << "a mode";
  std::string what = EncodeDelete(SomeDelete(), 7);
  what[1] = static_cast<char>(what[1] | 4);
  EXPECT_FALSE(DecodeDelete(what, nullptr)) << "a flag";
  EXPECT_FALSE(DecodeColumnSet(EncodeColumnSet({}))) << "a set of nothing";
  EXPECT_FALSE(DecodeColumnSet(EncodeColumnSet({{0, "a"}, {0, "b"}, {0, "a"}})))
      << "a column twice";
  EXPECT_TRUE(DecodeColumnSet(EncodeColumnSet({{0, "a"}, {1, "a"}}))) << "of two families";
}

TEST(MetaCodecDamageTest, TheErrorNamesTheRecord) {
  EXPECT_NE(DecodeTable("").error().message().find("a table"), std::string::npos);
  EXPECT_NE(DecodeColumnSet("").error().message().find("a column set"), std::string::npos);
}

TEST(MetaCodecDamageTest, DamagedRecordsAreRefusedOrRead) {
  const std::string records[] = {EncodeTable(SomeTable()), EncodeColumnSet({{0, "a"}, {1, "b"}}),
                                 EncodeDelete(SomeDelete(), 7)};
  for (const std::string& record : records) {
    DamageManyTimes(record, [](std::string_view bytes) {
      TimeUs at = 0;
      DecodeFormat(bytes).has_value();
      DecodeStream(bytes).has_value();
      DecodeTable(bytes).has_value();
      DecodeColumnSet(bytes).has_value();
      DecodeField(bytes).has_value();
      DecodeDelete(bytes, &at).has_value();
    });
  }
}

}  // namespace
}  // namespace tallyd

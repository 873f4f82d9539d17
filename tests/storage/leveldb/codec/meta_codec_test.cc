// The small records of the database: they come back, and nothing else passes for one.
#include "storage/leveldb/codec/meta_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/storage/bytes/hostile_bytes.h"

namespace tallyd {
namespace {

DeleteSpec SomeDelete() {
  DeleteSpec what;
  what.rows = {"a", std::string("b\0c", 3)};
  what.cells = {5, 300};
  what.family = FamilyId{1};
  what.qualifier = "q";
  return what;
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
  EXPECT_EQ(DecodeField(EncodeField({0x2a, 7})).value(), (FieldMarks{0x2a, 7}));
}

TEST(MetaCodecDamageTest, OnlyWholeRecordsOfThisVersionAreRead) {
  ExpectOnlyWholeReads(EncodeFormat(kFormatVersion), DecodeFormat);
  ExpectOnlyWholeReads(EncodeColumnSet({{0, "a"}, {1, "b"}}), DecodeColumnSet);
  ExpectOnlyWholeReads(EncodeField({4, 0}), DecodeField);
  ExpectOnlyWholeReads(EncodeDelete(SomeDelete(), 7), [](std::string_view record) {
    TimeUs at = 0;
    return DecodeDelete(record, &at);
  });
}

TEST(MetaCodecDamageTest, NumbersThatAreNotListedAreRefused) {
  std::string what = EncodeDelete(SomeDelete(), 7);
  what[1] = static_cast<char>(what[1] | 4);
  EXPECT_FALSE(DecodeDelete(what, nullptr)) << "a flag";
  EXPECT_FALSE(DecodeColumnSet(EncodeColumnSet({}))) << "a set of nothing";
  EXPECT_FALSE(DecodeColumnSet(EncodeColumnSet({{0, "a"}, {0, "b"}, {0, "a"}})))
      << "a column twice";
  EXPECT_TRUE(DecodeColumnSet(EncodeColumnSet({{0, "a"}, {1, "a"}}))) << "of two families";
}

TEST(MetaCodecDamageTest, TheErrorNamesTheRecord) {
  EXPECT_NE(DecodeColumnSet("").error().message().find("a column set"), std::string::npos);
}

TEST(MetaCodecDamageTest, DamagedRecordsAreRefusedOrRead) {
  const std::string records[] = {EncodeColumnSet({{0, "a"}, {1, "b"}}),
                                 EncodeDelete(SomeDelete(), 7)};
  for (const std::string& record : records) {
    DamageManyTimes(record, [](std::string_view bytes) {
      TimeUs at = 0;
      DecodeFormat(bytes).has_value();
      DecodeColumnSet(bytes).has_value();
      DecodeField(bytes).has_value();
      DecodeDelete(bytes, &at).has_value();
    });
  }
}

}  // namespace
}  // namespace tallyd

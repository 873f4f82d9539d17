// Records that make sense are kept, the others are counted, and heads are numbered anew.
#include "storage/leveldb/tools/salvaged_records.h"

#include <gtest/gtest.h>

#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

using Records = std::map<std::string, std::string>;

std::string Number(uint64_t number) {
  std::string bytes;
  PutU64(&bytes, number);
  return bytes;
}

std::string EntryKey(TableId table, const std::string& row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table, row, time) - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

class SalvagedRecordsTest : public ::testing::Test {
 protected:
  static constexpr TableId kTable = 3;

  static TableInfo Table() {
    TableInfo table;
    table.id = kTable;
    table.name = "T";
    table.stream = "s";
    table.families = {{"F", false, {}}};
    table.family_rank = {0};
    return table;
  }
  // A set of one column, F:a, with that number.
  static Records CopiesOfSet(uint32_t set) {
    const std::string space(1, static_cast<char>(KeySpace::kCopies));
    return {{space + TableKey(kTable), EncodeTable(Table())},
            {space + ColumnSetKey(kTable, set), EncodeColumnSet({{0, "a"}})}};
  }
  // By the set, an integer.
  static std::string Entry(uint32_t set) { return std::string{1, static_cast<char>(set), 0x20}; }
  Records HeadOf(size_t head) {
    Records records;
    EXPECT_TRUE(records_.PutHead(head, [&](std::string_view key, std::string_view value) {
      records[std::string(key)] = value;
      return Status();
    }));
    return records;
  }
  Records Base() {
    Records records;
    EXPECT_TRUE(records_.PutBase([&](std::string_view key, std::string_view value) {
      records[std::string(key)] = value;
      return Status();
    }));
    return records;
  }

  SalvageReport report_;
  SalvagedRecords records_{&report_};
};

TEST_F(SalvagedRecordsTest, AHeadTellsWhatItsEntriesMean) {
  records_.TakeBase("base", {});
  Records head = CopiesOfSet(1);
  head[EntryKey(kTable, "row", 5, 9)] = Entry(1);
  head[EntryKey(kTable, "row", 6, 10)] = Entry(2);
  records_.TakeHead("head", 1, {true, head});
  records_.Resolve();
  EXPECT_EQ(report_.base, SalvageReport::Base::kGone);
  EXPECT_EQ(report_.tables.at(kTable).entries, 1u);
  EXPECT_EQ(report_.tables.at(kTable).lost_entries, 1u) << "its set is not known";
  ASSERT_EQ(report_.findings.size(), 1u);
  EXPECT_EQ(report_.findings[0].file, "head");
  EXPECT_TRUE(Base().contains(ColumnSetKey(kTable, 1)));
  EXPECT_EQ(Base().at(TableKey(kTable)), EncodeTable(Table()));
  EXPECT_TRUE(HeadOf(0).contains(EntryKey(kTable, "row", 5, 9)));
  EXPECT_FALSE(HeadOf(0).contains(EntryKey(kTable, "row", 6, 10)));
  EXPECT_EQ(HeadOf(0).at(MetaKey(MetaKind::kLastSequence)), Number(10));
}

TEST_F(SalvagedRecordsTest, HeadsAreNumberedFromOne) {
  records_.TakeBase("base", {});
  for (uint64_t head = 1; head <= 3; ++head) records_.TakeHead("head", head, {true, {}});
  records_.Resolve();
  EXPECT_EQ(HeadOf(0).at(MetaKey(MetaKind::kClosedHead)), Number(2));
  EXPECT_EQ(HeadOf(1).at(MetaKey(MetaKind::kClosedHead)), Number(3));
  EXPECT_FALSE(HeadOf(2).contains(MetaKey(MetaKind::kClosedHead)));
}

TEST_F(SalvagedRecordsTest, AHeadOfAnotherStoreIsLeftOut) {
  const std::string id = MetaKey(MetaKind::kStoreId);
  records_.TakeBase("base", {true, {{id, "this one"}, {MetaKey(MetaKind::kNextTable), "1234"}}});
  records_.TakeHead("own", 1, {true, {{id, "this one"}, {EntryKey(kTable, "a", 5, 9), "x"}}});
  records_.TakeHead("of before format 9", 2, {true, {}});
  records_.TakeHead("other", 3, {true, {{id, "another"}, {EntryKey(kTable, "a", 5, 9), "x"}}});
  EXPECT_EQ(records_.heads(), 2u);
  ASSERT_EQ(report_.findings.size(), 1u);
  EXPECT_EQ(report_.findings[0].file, "other");
  EXPECT_TRUE(records_.ChecksumOf(1));
  EXPECT_NE(records_.ChecksumOf(1), records_.ChecksumOf(2));
  EXPECT_FALSE(records_.ChecksumOf(3));
  EXPECT_EQ(records_.store(), "this one");
}

TEST_F(SalvagedRecordsTest, WithoutBaseTheFirstHeadTellsTheStore) {
  records_.TakeBase("base", {});
  EXPECT_EQ(records_.store(), "");
  records_.TakeHead("head", 1, {true, {{MetaKey(MetaKind::kStoreId), "a store"}}});
  EXPECT_EQ(records_.store(), "a store");
  records_.Resolve();
  EXPECT_EQ(Base().at(MetaKey(MetaKind::kStoreId)), "a store");
  EXPECT_FALSE(records_.HasEntriesWithoutBase());
}

// Whose latest rows, and what else it had, are those of an earlier moment.
TEST_F(SalvagedRecordsTest, ABaseThatIsOlderThanAHeadIsTold) {
  std::string next;
  PutU32(&next, kTable);
  records_.TakeBase("base", {true, {{MetaKey(MetaKind::kNextTable), next}}});
  Records head = CopiesOfSet(1);
  head[EntryKey(kTable, "row", 5, 9)] = Entry(1);
  records_.TakeHead("head", 1, {true, head});
  records_.Resolve();
  ASSERT_EQ(report_.findings.size(), 1u);
  EXPECT_EQ(report_.findings[0].file, "base");
  EXPECT_EQ(report_.tables.at(kTable).entries, 1u) << "the head tells what they mean";
}

TEST_F(SalvagedRecordsTest, NumbersAreNotGivenTwice) {
  Records base{{TableKey(kTable), EncodeTable(Table())},
               {MetaKey(MetaKind::kSealedHead), Number(7)},
               {MetaKey(MetaKind::kLastSequence), Number(50)}};
  records_.TakeBase("base", {false, base});
  EXPECT_EQ(records_.sealed_head(), 7u);
  BlockFileInfo file;
  file.table = kTable;
  file.number = 4;
  file.max_sequence = 80;
  records_.AddFile(file);
  records_.Resolve();
  std::string next;
  PutU32(&next, kTable + 1);
  EXPECT_EQ(Base().at(MetaKey(MetaKind::kNextTable)), next);
  EXPECT_EQ(Base().at(MetaKey(MetaKind::kLastSequence)), Number(80));
  EXPECT_TRUE(Base().contains(BlockFileKey(kTable, 4)));
  EXPECT_FALSE(Base().contains(MetaKey(MetaKind::kSealedHead)));
}

TEST_F(SalvagedRecordsTest, WhatCannotBeDecodedIsCounted) {
  Records base{{TableKey(kTable), "nonsense"},
               {TableKey(kTable + 1), EncodeTable(Table())},
               {ColumnSetKey(kTable + 1, 1), "nonsense"},
               {RowPrefix(KeySpace::kLatest, kTable + 1, "row"), "nonsense"},
               {DeleteKey(kTable + 1, 8), "nonsense"},
               {BlockFileKey(kTable + 1, 8), "nonsense"}};
  records_.TakeBase("base", {true, base});
  records_.Resolve();
  EXPECT_EQ(report_.findings.size(), 4u);
  EXPECT_EQ(report_.tables.at(kTable + 1).lost_rows, 1u);
  EXPECT_TRUE(records_.recorded().empty());
  for (const auto& [key, value] : Base()) EXPECT_NE(value, "nonsense");
}

}  // namespace
}  // namespace tallyd

// Keys of the database: their order is that of rows, and only keys read back as keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/bytes/hostile_bytes.h"

namespace tallyd {
namespace {

constexpr unsigned kSeed = 20261121;

std::string EntryKeyOf(TableId table, std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table, row, time) - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

TEST(KeyCodecTest, KeysSortByTableRowThenNewestFirst) {
  std::mt19937_64 random(kSeed);
  // (table, row, -time, -sequence) in ascending order is the order of keys.
  std::vector<std::tuple<TableId, std::string, int64_t, int64_t, std::string>> keys;
  for (int i = 0; i < 3000; ++i) {
    const auto table = static_cast<TableId>(random() % 3);
    const std::string row = RandomBytes(random, 4);
    const auto time = static_cast<TimeUs>(random() % 3 == 0 ? kMaxTimeUs : random() % 300);
    const auto sequence = random() % 300;
    keys.emplace_back(table, row, -time, -static_cast<int64_t>(sequence),
                      EntryKeyOf(table, row, time, sequence));
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return std::get<4>(a) < std::get<4>(b);
  }));
}

TEST(KeyCodecTest, KeysReadBack) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const std::string row = RandomBytes(random, 9);
    const auto time = static_cast<TimeUs>(random() % static_cast<uint64_t>(kMaxTimeUs + 1));
    const std::string key = EntryKeyOf(7, row, time, static_cast<uint64_t>(i));
    EntryKey entry;
    std::string read;
    ASSERT_TRUE(ParseEntryKey(key, &entry));
    ASSERT_TRUE(DecodeRowPrefix(entry.row_prefix, &read));
    EXPECT_EQ(read, row);
    EXPECT_EQ(entry.time, time);
    EXPECT_EQ(entry.sequence, static_cast<uint64_t>(i));
    EXPECT_EQ(entry.row_prefix, RowPrefix(KeySpace::kRows, 7, row));
  }
}

TEST(KeyCodecTest, AfterRowIsBehindItsEntriesAndBeforeTheNextRow) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const std::string row = RandomBytes(random, 9);
    const std::string prefix = RowPrefix(KeySpace::kRows, 7, row);
    EXPECT_LT(EntryKeyOf(7, row, 0, 0), AfterRow(prefix));
    EXPECT_LT(AfterRow(prefix), RowPrefix(KeySpace::kRows, 7, row + std::string(1, '\0')));
  }
}

TEST(KeyCodecTest, SeekFindsTheFirstEntryBelowATime) {
  const std::string prefix = RowPrefix(KeySpace::kRows, 1, "r");
  std::string seek;
  AppendEntrySeek(prefix, 10, &seek);
  EXPECT_GT(seek, EntryKeyOf(1, "r", 10, 0));
  EXPECT_LE(seek, EntryKeyOf(1, "r", 9, std::numeric_limits<uint64_t>::max()));
}

TEST(KeyCodecTest, ADatabaseRangeHoldsTheRowsOfItsRangeAndNoOthers) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const KeyRange range{RandomBytes(random, 3), RandomBytes(random, 3)};
    const KeyRange keys = DatabaseRange(KeySpace::kRows, 7, range);
    const std::string row = RandomBytes(random, 3);
    const std::string key = EntryKeyOf(7, row, 5, 5);
    const bool in_range = row >= range.start && (range.end.empty() || row < range.end);
    EXPECT_EQ(key >= keys.start && key < keys.end, in_range);
    for (const TableId other : {6u, 8u}) {
      const std::string elsewhere = EntryKeyOf(other, row, 5, 5);
      EXPECT_FALSE(elsewhere >= keys.start && elsewhere < keys.end);
    }
  }
}

TEST(KeyCodecTest, TheLastTableOfASpaceHasAnEnd) {
  constexpr TableId kLast = std::numeric_limits<TableId>::max();
  const std::string end = TableEnd(KeySpace::kRows, kLast);
  EXPECT_GT(end, EntryKeyOf(kLast, "\xff\xff", 0, 0));
  EXPECT_LE(end, TablePrefix(KeySpace::kBlockFiles, 0));
}

TEST(KeyCodecTest, RecordsOfOneTableStandTogetherInOrderOfTheirNumbers) {
  EXPECT_LT(DeleteKey(3, 255), DeleteKey(3, 256));
  EXPECT_TRUE(DeleteKey(3, 256).starts_with(TablePrefix(KeySpace::kDeletes, 3)));
  EXPECT_LT(LatestChangesKey(255), LatestChangesKey(256));
  EXPECT_LT(ColumnSetKey(3, 255), ColumnSetKey(3, 256));
  EXPECT_LT(TableKey(255), TableKey(256));
  EXPECT_NE(FieldKey("a", "bc"), FieldKey("ab", "c"));
}

TEST(KeyCodecDamageTest, WhatNoWriterWritesIsNoKey) {
  const std::string key = EntryKeyOf(1, "row", 5, 6);
  EntryKey entry;
  for (size_t size = 0; size < key.size(); ++size) {
    EXPECT_FALSE(ParseEntryKey(key.substr(0, size), &entry)) << size;
  }
  std::string late = key;
  EncodeU64(late.data() + late.size() - kEntrySuffixBytes, ~static_cast<uint64_t>(kMaxTimeUs + 1));
  EXPECT_FALSE(ParseEntryKey(late, &entry)) << "a time that cannot be";
}

TEST(KeyCodecDamageTest, AnEscapeThatIsNoneIsNoRow) {
  using std::string_literals::operator""s;
  std::string row;
  const std::string table = TablePrefix(KeySpace::kLatest, 1);
  EXPECT_TRUE(DecodeRowPrefix(table + "a\0\xff\0\x01"s, &row));
  EXPECT_EQ(row, "a\0"s);
  EXPECT_FALSE(DecodeRowPrefix(table + "a\0\x02\0\x01"s, &row)) << "neither zero nor end";
  EXPECT_FALSE(DecodeRowPrefix(table + "a\0\x01\0\x01"s, &row)) << "bytes after the end";
  EXPECT_FALSE(DecodeRowPrefix(table + "a"s, &row)) << "no end";
  EXPECT_FALSE(DecodeRowPrefix(table + "a\0"s, &row)) << "half an end";
  EXPECT_FALSE(DecodeRowPrefix(""s, &row));
}

TEST(KeyCodecDamageTest, DamagedKeysAreRefusedOrRead) {
  DamageManyTimes(EntryKeyOf(1, std::string("r\0w", 3), 5, 6), [](std::string_view bytes) {
    EntryKey entry;
    std::string row;
    if (ParseEntryKey(bytes, &entry)) DecodeRowPrefix(entry.row_prefix, &row);
    DecodeRowPrefix(bytes, &row);
  });
}

}  // namespace
}  // namespace tallyd

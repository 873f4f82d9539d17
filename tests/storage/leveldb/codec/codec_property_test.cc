// What holds for all keys and values: order, round trips, and that damaged bytes are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "storage/bytes/value_codec.h"
#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/latest/entry_cells.h"

namespace tallyd {
namespace {

constexpr unsigned kSeed = 20261121;

std::string RandomBytes(std::mt19937_64& random, size_t max) {
  // Few different bytes, so that keys are prefixes of each other and hold what is escaped.
  static constexpr std::string_view kBytes(
      "\x00\x01\x02\xff\xfe"
      "ab",
      7);
  std::string bytes(random() % (max + 1), '\0');
  for (char& c : bytes) c = kBytes[random() % kBytes.size()];
  return bytes;
}

std::string EntryKeyOf(TableId table, std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table, row, time) - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

TEST(CodingTest, VarintsReadBackWhateverFollows) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t v = random() >> (random() % 64);
    std::string bytes;
    PutVarint(&bytes, v);
    EXPECT_EQ(bytes.size(), std::max<size_t>(1, (static_cast<size_t>(std::bit_width(v)) + 6) / 7));
    const size_t size = bytes.size();
    bytes += RandomBytes(random, 12);
    ByteReader in(bytes);
    uint64_t read = 0;
    ASSERT_TRUE(in.GetVarint(&read));
    EXPECT_EQ(read, v);
    EXPECT_EQ(in.left(), bytes.size() - size);
    ByteReader cut(std::string_view(bytes).substr(0, size - 1));
    EXPECT_FALSE(cut.GetVarint(&read));
  }
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
    EXPECT_LT(key, AfterRow(entry.row_prefix));
    EXPECT_LT(AfterRow(entry.row_prefix),
              RowPrefix(KeySpace::kRows, 7, row + std::string(1, '\0')));
  }
}

TEST(KeyCodecTest, SeekFindsTheFirstEntryBelowATime) {
  const std::string prefix = RowPrefix(KeySpace::kRows, 1, "r");
  std::string seek;
  AppendEntrySeek(prefix, 10, &seek);
  EXPECT_GT(seek, EntryKeyOf(1, "r", 10, 0));
  EXPECT_LE(seek, EntryKeyOf(1, "r", 9, std::numeric_limits<uint64_t>::max()));
}

Value RandomValue(std::mt19937_64& random, const std::string& text) {
  const auto bits = static_cast<int64_t>(random());
  switch (random() % 8) {
    case 0:
      return Value::Int(bits >> (random() % 64));
    case 1:
      return Value::Decimal(bits % (Value::kMaxMantissa + 1),
                            static_cast<uint8_t>(random() % (Value::kMaxScale + 1)));
    case 2: {
      const auto number = std::bit_cast<double>(bits);
      return std::isfinite(number) ? Value::Double(number) : Value::Double(-0.0);
    }
    case 3:
      return Value::Bool(bits % 2 == 0);
    case 4:
      return Value::String(text);
    case 5:
      return Value::Bytes(text);
    case 6:
      return Value::Int(bits % 1000);
    default:
      return Value();
  }
}

TEST(ValueCodecTest, ValuesComeBackToTheBitAndTheType) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = RandomBytes(random, 3);
    const Value value = RandomValue(random, text);
    char bytes[64];
    const char* end = EncodeValue(bytes, value);
    ASSERT_LE(end, bytes + MaxValueBytes(value));
    const std::string_view encoded(bytes, static_cast<size_t>(end - bytes));
    ByteReader in(encoded);
    Value read;
    ASSERT_TRUE(DecodeValue(&in, &read));
    EXPECT_TRUE(in.done());
    ASSERT_EQ(read, value);
    ByteReader skip(encoded);
    EXPECT_TRUE(SkipValue(&skip) && skip.done());
    // Of a part of it neither makes a value.
    for (size_t cut = 0; cut < encoded.size(); ++cut) {
      ByteReader part(encoded.substr(0, cut));
      EXPECT_FALSE(DecodeValue(&part, &read));
    }
  }
}

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() {
    table_.id = 1;
    table_.families.resize(2);
    table_.family_rank = {0, 1};
    const std::vector<ColumnRef> columns = {{0, "a"}, {1, "b"}, {1, "c"}};
    set_ = sets_.Intern(table_, columns);
    ByteBuffer by_set, by_name;
    AppendEntry(*set_, std::vector{Value::Int(300), Value::String("text"), Value::Double(1.5)},
                &by_set);
    AppendEntry(columns, std::vector{Value::Int(1), Value::Bytes("b"), Value::Bool(true)},
                &by_name);
    by_set_.assign(by_set.data(), by_set.size());
    by_name_.assign(by_name.data(), by_name.size());
  }

  TableInfo table_;
  ColumnRegistry sets_;
  const ColumnSet* set_;
  std::string by_set_, by_name_;
};

TEST_F(DamageTest, EveryTruncationOfAnEntryIsRefused) {
  EntryCells cells;
  for (const std::string& entry : {by_set_, by_name_}) {
    EXPECT_TRUE(DecodeEntry(sets_, 1, entry, &cells));
    for (size_t cut = 0; cut < entry.size(); ++cut) {
      EXPECT_FALSE(DecodeEntry(sets_, 1, entry.substr(0, cut), &cells)) << cut;
    }
    EXPECT_FALSE(DecodeEntry(sets_, 1, entry + "x", &cells));
  }
}

TEST_F(DamageTest, DamagedBytesNeverCrash) {
  std::mt19937_64 random(kSeed);
  const Layer layers[] = {{9, 4, by_set_}, {9, 3, by_name_}, {1, 7, by_set_}};
  TableInfo table;
  table.name = "T";
  table.families.push_back({"F", true, {}});
  DeleteSpec what;
  what.family = FamilyId{1};
  what.qualifier = "q";
  std::string row;
  EncodeLatest(layers, &row);
  std::string changes;
  AppendLatestChange({1, "key", row}, &changes);
  AppendLatestChange({2, "gone", ""}, &changes);
  const std::vector<std::string> records = {by_set_,
                                            by_name_,
                                            row,
                                            changes,
                                            EncodeTable(table),
                                            EncodeColumnSet(set_->columns),
                                            EncodeDelete(what, 7),
                                            EntryKeyOf(1, "row", 5, 6)};
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = records[random() % records.size()];
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    // On the heap and of the exact size, so that a sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const std::string_view view(exact.data(), exact.size());
    EntryCells cells;
    std::vector<Layer> read;
    EntryKey entry;
    std::string row_key;
    (void)DecodeEntry(sets_, 1, view, &cells);
    (void)DecodeLatest(view, &read);
    ByteReader in(view);
    LatestChangeRecord change;
    while (!in.done() && ReadLatestChange(&in, &change)) {
    }
    (void)DecodeTable(view);
    (void)DecodeColumnSet(view);
    TimeUs at = 0;
    (void)DecodeDelete(view, &at);
    (void)DecodeStream(view);
    (void)DecodeField(view);
    (void)DecodeFormat(view);
    if (ParseEntryKey(view, &entry)) (void)DecodeRowPrefix(entry.row_prefix, &row_key);
  }
}

}  // namespace
}  // namespace tallyd

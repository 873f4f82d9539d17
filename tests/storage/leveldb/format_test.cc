// The bytes of storage/FORMAT.md. A test here that has to be changed is a change of the format.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>

#include "storage/bytes/coding.h"
#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return hex;
}

std::string Hex(const ByteBuffer& buffer) { return Hex(buffer.View(0, buffer.size())); }

std::string EntryKeyOf(TableId table, std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table, row, time) - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

std::string ValueHex(const Value& value) {
  std::string bytes(MaxValueBytes(value), '\0');
  bytes.resize(static_cast<size_t>(EncodeValue(bytes.data(), value) - bytes.data()));
  return Hex(bytes);
}

TEST(FormatTest, RowKey) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(Hex(EntryKeyOf(3, "a\0b"sv, 1'000'000, 7)),
            "10000000036100ff620001fffffffffff0bdbffffffffffffffff8");
}

TEST(FormatTest, AGroupOfEntries) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(Hex(GroupKey(7)), "140000000000000007");
  const std::string key = EntryKeyOf(3, "a\0b"sv, 1'000'000, 7);
  std::string record(GroupEntryBytes(key.size(), 3) + kGroupSlackBytes, '\0');
  char* const end = EncodeGroupEntry(record.data(), {key, "\x01\x01\x20"});
  record.resize(static_cast<size_t>(end - record.data()));
  EXPECT_EQ(record.size(), GroupEntryBytes(key.size(), 3));
  EXPECT_EQ(Hex(record), "1b0310000000036100ff620001fffffffffff0bdbffffffffffffffff8010120");
}

TEST(FormatTest, LatestRow) {
  EXPECT_EQ(Hex(RowPrefix(KeySpace::kLatest, 4, "m1")), "20000000046d310001");
  const Layer layer{5, 9, "\x01\x01\x20"};
  std::string row;
  EncodeLatest({&layer, 1}, &row);
  EXPECT_EQ(Hex(row), "01050903010120");
}

TEST(FormatTest, LatestChanges) {
  EXPECT_EQ(Hex(LatestChangesKey(9)), "210000000000000009");
  std::string record;
  AppendLatestChange({4, "k", "row"}, &record);
  AppendLatestChange({300, "gone", ""}, &record);
  EXPECT_EQ(Hex(record), "04016b03726f77ac0204676f6e6500");
  EncodeLatestTwin({5, 9, 8, 2}, &record);
  EXPECT_EQ(Hex(record), "0005090802");
  record.clear();
  AppendLayer({5, 9, "\x01\x01\x20"}, &record);
  ByteBuffer addition;
  AppendAddition(4, "m1", record, &addition);
  EXPECT_EQ(Hex(addition.View(0, addition.size())),
            "04026d3108800005090301"
            "0120");
}

TEST(FormatTest, Delete) {
  EXPECT_EQ(Hex(DeleteKey(3, 8)), "30000000030000000000000008");
  DeleteSpec what;
  what.rows = {"a", "b"};
  EXPECT_EQ(Hex(EncodeDelete(what, 5)), "01000161016200808084fea6dee11105");
  what.family = FamilyId{2};
  what.qualifier = "q";
  what.cells = {1, 300};
  EXPECT_EQ(Hex(EncodeDelete(what, 5)), "01030161016201ac0205020171");
}

TEST(FormatTest, Memo) {
  EXPECT_EQ(Hex(MemoKey("k")), "406b");
  EXPECT_EQ(Hex(EncodeMemo("v")), "0176");
  EXPECT_EQ(Hex(EncodeMemo({})), "00");
}

TEST(FormatTest, MetaKeys) {
  EXPECT_EQ(Hex(MetaKey(MetaKind::kFormat)), "0000");
  EXPECT_EQ(Hex(MetaKey(MetaKind::kLastSequence)), "0001");
  EXPECT_EQ(Hex(MetaKey(MetaKind::kNextTable)), "0002");
  EXPECT_EQ(Hex(MetaKey(MetaKind::kSealedHead)), "0003");
  EXPECT_EQ(Hex(MetaKey(MetaKind::kRetentionClock)), "0004");
  EXPECT_EQ(Hex(HeadNoteKey(5)), "00070000000000000005");
  EXPECT_EQ(Hex(MetaKey(MetaKind::kHeadOrigin)), "0009");
  EXPECT_EQ(Hex(StreamKey("s")), "001073");
  EXPECT_EQ(Hex(TableKey(3)), "001100000003");
  EXPECT_EQ(Hex(ColumnSetKey(3, 1)), "00120000000300000001");
  EXPECT_EQ(Hex(FieldKey("s", "a")), "001373000161");
}

TEST(FormatTest, MetaRecords) {
  EXPECT_EQ(Hex(EncodeFormat(1)), "74616c6c796400000001");
  EXPECT_EQ(Hex(EncodeStream({TimeUnit::kMilliseconds, {}})), "0101");
  EXPECT_EQ(Hex(EncodeStream({TimeUnit::kMilliseconds, {"h", "r"}})), "02010201680172");
  EXPECT_EQ(Hex(EncodeOpenings({3, {{7, 300}}})), "0103010000000000000007ac02");
  EXPECT_EQ(Hex(EncodeHeadOrigin({5, 300})), "0105ac02");
  EXPECT_EQ(Hex(EncodeHeadNote({1, 2})), "00000000000000010000000000000002");
  TableInfo table;
  table.name = "T";
  table.stream = "s";
  table.pattern = "new";
  table.row_key = "{a}";
  table.time_field = "t";
  table.when = {"w"};
  table.membership = {"", 5, 300, 0, 0};
  table.rules = {{"r", 5, 0, 0, 0}, {"o", 0, 7, 6, 0}};
  table.families.push_back({"F", true, {}, {"F", 1, 2, true, {}, {}}, 9});
  table.families.push_back({"G", true, {}, {}, 0});
  table.families.push_back({"H", true, {}, {"H", {}, {}, false, Aggregate::kHll, 1000}, 0});
  EXPECT_EQ(Hex(EncodeTable(table)),
            "020001540173036e6577037b617d"
            "01740101770005ac0200"
            "020172050000016f000706"
            "030146000203010901470000000000"
            "014804e90700000000");
  EXPECT_EQ(Hex(EncodeColumnSet({{0, "a"}, {0, "b"}})),
            "01020001610001"
            "62");
  EXPECT_EQ(Hex(EncodeField({4, 0})), "010400");
  EXPECT_EQ(Hex(EncodeField({2, 7})), "010207");
  EXPECT_EQ(Hex(MissedFieldKey(3, "a")), "00140000000361");
  EXPECT_EQ(Hex(EncodeMissedField({"a", 1, 5})), "010105");
}

TEST(FormatTest, Values) {
  EXPECT_EQ(ValueHex(Value::Int(0)), "00");
  EXPECT_EQ(ValueHex(Value::Int(1)), "20");
  EXPECT_EQ(ValueHex(Value::Int(-1)), "10");
  EXPECT_EQ(ValueHex(Value::Int((int64_t{1} << 59) - 1)), "e0ffffffffffffffff01");
  EXPECT_EQ(ValueHex(Value::Int(int64_t{1} << 59)), "010800000000000000");
  EXPECT_EQ(ValueHex(Value::Int(int64_t{1} << 62)), "014000000000000000");
  EXPECT_EQ(ValueHex(Value::Int(std::numeric_limits<int64_t>::min())), "018000000000000000");
  EXPECT_EQ(ValueHex(Value::Decimal(2, 2)), "4a");
  EXPECT_EQ(ValueHex(Value::Decimal(-5, 1)), "9901");
  EXPECT_EQ(ValueHex(Value::Decimal(1, 0)), "28");
  EXPECT_EQ(ValueHex(Value::Decimal(1, 7)), "2f");
  EXPECT_EQ(ValueHex(Value::Decimal(1, 8)), "023e45798ee2308c3a");
  EXPECT_EQ(ValueHex(Value::Double(1e300)), "027e37e43c8800759c");
  EXPECT_EQ(ValueHex(Value::Double(-0.0)), "028000000000000000");
  EXPECT_EQ(ValueHex(Value::Bool(false)), "03");
  EXPECT_EQ(ValueHex(Value::Bool(true)), "04");
  EXPECT_EQ(ValueHex(Value::String("hi")), "256869");
  EXPECT_EQ(ValueHex(Value::Bytes(std::string_view("\0", 1))), "1600");
  EXPECT_EQ(ValueHex(Value()), "07");
}

TEST(FormatTest, Entries) {
  ColumnSet set;
  set.id = 2;
  set.columns = {{0, "a"}, {0, "b"}};
  ByteBuffer complete;
  EXPECT_TRUE(AppendEntry(set, std::vector{Value::Int(1), Value::Decimal(2, 2)}, &complete));
  EXPECT_EQ(Hex(complete), "0102204a");
  ByteBuffer sparse;
  EXPECT_TRUE(AppendEntry(set, std::vector{Value(), Value::Decimal(2, 2)}, &sparse));
  EXPECT_EQ(Hex(sparse), "0302074a");
  ByteBuffer named;
  const std::vector<ColumnRef> columns = {{0, "a"}, {0, "b"}};
  EXPECT_TRUE(AppendEntry(columns, std::vector{Value::String("x"), Value()}, &named));
  EXPECT_EQ(Hex(named),
            "020100016115"
            "78");
  ByteBuffer empty;
  EXPECT_FALSE(AppendEntry(set, std::vector{Value(), Value()}, &empty));
  EXPECT_EQ(empty.size(), 0u);
}

}  // namespace
}  // namespace tallyd

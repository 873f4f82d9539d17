// Entries as stored: columns by set or by name with a value each, and nothing else reads as one.
#include "storage/leveldb/codec/entry_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "tests/storage/bytes/hostile_bytes.h"

namespace tallyd {
namespace {

const ColumnSet kSet{1, 300, {{0, "a"}, {1, "b"}, {1, "c"}}};
const std::vector<ColumnRef> kNames = {{0, "a"}, {1, ""}, {1, "c"}};

std::string BySet(const std::vector<Value>& values) {
  ByteBuffer out;
  AppendEntry(kSet, values, &out);
  return {out.data(), out.size()};
}
std::string ByName(const std::vector<Value>& values) {
  ByteBuffer out;
  AppendEntry(kNames, values, &out);
  return {out.data(), out.size()};
}

struct Entry {
  EntryHead head;
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
};

// As readers walk it. Views `bytes`.
bool ReadEntry(std::string_view bytes, Entry* entry) {
  ByteReader in(bytes);
  if (!GetEntryHead(&in, &entry->head)) return false;
  const bool named = entry->head.tag == EntryTag::kByName;
  const size_t count = named ? entry->head.number : kSet.columns.size();
  for (size_t i = 0; i < count; ++i) {
    ColumnRef column;
    Value value;
    if ((named && !GetColumn(&in, &column)) || !DecodeValue(&in, &value)) return false;
    entry->columns.push_back(column);
    entry->values.push_back(value);
  }
  return in.done();
}

TEST(EntryCodecTest, AnEntryByItsSetHasAValueForEachOfItsColumns) {
  const std::vector<Value> values = {Value::Int(1), Value::String("text"), Value::Bool(true)};
  const std::string bytes = BySet(values);
  Entry entry;
  ASSERT_TRUE(ReadEntry(bytes, &entry));
  EXPECT_EQ(entry.head.tag, EntryTag::kBySet);
  EXPECT_EQ(entry.head.number, 300u);
  EXPECT_EQ(entry.values, values);
}

TEST(EntryCodecTest, AbsentValuesMakeItSparse) {
  const std::vector<Value> values = {Value(), Value::Bytes("\xff"), Value()};
  const std::string bytes = BySet(values);
  Entry entry;
  ASSERT_TRUE(ReadEntry(bytes, &entry));
  EXPECT_EQ(entry.head.tag, EntryTag::kBySetSparse);
  EXPECT_EQ(entry.values, values);
}

TEST(EntryCodecTest, ByNameAbsentValuesAreLeftOut) {
  const std::string bytes = ByName({Value::Int(1), Value(), Value::Double(0.1)});
  Entry entry;
  ASSERT_TRUE(ReadEntry(bytes, &entry));
  EXPECT_EQ(entry.head.tag, EntryTag::kByName);
  EXPECT_EQ(entry.columns, (std::vector{kNames[0], kNames[2]}));
  EXPECT_EQ(entry.values, (std::vector{Value::Int(1), Value::Double(0.1)}));
}

TEST(EntryCodecTest, NothingIsAppendedWhereNothingIsThere) {
  ByteBuffer out;
  out.Append("before");
  EXPECT_FALSE(AppendEntry(kSet, std::vector<Value>(3), &out));
  EXPECT_FALSE(AppendEntry(kNames, std::vector<Value>(3), &out));
  EXPECT_EQ(out.View(0, out.size()), "before");
}

// Long texts make the buffer grow between two values of one entry.
TEST(EntryCodecTest, EntriesOfAnyTextComeBackOneBehindTheOther) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 3; ++i) texts.push_back(RandomBytes(random, 9000));
    const std::vector<Value> values = {Value::String(texts[0]), Value::Int(round),
                                       Value::Bytes(texts[2])};
    ByteBuffer out;
    ASSERT_TRUE(AppendEntry(kSet, values, &out));
    const size_t first = out.size();
    ASSERT_TRUE(AppendEntry(kNames, values, &out));
    Entry by_set;
    Entry by_name;
    ASSERT_TRUE(ReadEntry(out.View(0, first), &by_set));
    ASSERT_TRUE(ReadEntry(out.View(first, out.size() - first), &by_name));
    EXPECT_EQ(by_set.values, values);
    EXPECT_EQ(by_name.values, values);
    EXPECT_EQ(by_name.columns, kNames);
  }
}

TEST(EntryCodecTest, AnotherSetChangesNothingButTheSet) {
  for (const std::vector<Value>& values :
       {std::vector{Value::Int(1), Value::Int(2), Value::Int(3)},
        std::vector{Value::Int(1), Value(), Value::String("x")}}) {
    const std::string bytes = BySet(values);
    const std::string changed = WithSet(bytes, 7);
    Entry entry;
    ASSERT_TRUE(ReadEntry(changed, &entry));
    EXPECT_EQ(entry.head.number, 7u);
    EXPECT_EQ(entry.values, values);
    EXPECT_EQ(ValuesOfEntry(changed), ValuesOfEntry(bytes));
  }
  EXPECT_EQ(ValuesOfEntry(ByName({Value::Int(1), Value(), Value()})), "");
}

// Without the columns of these numbers; "malformed" if it is, "" where nothing is appended.
std::string Without(std::string_view entry, std::vector<size_t> dropped, bool* changed) {
  ByteBuffer out;
  out.Append("before");
  const auto drop = [&](size_t column, bool) {
    return std::find(dropped.begin(), dropped.end(), column) != dropped.end();
  };
  if (!DropValues(entry, kSet.columns.size(), drop, &out, changed)) {
    EXPECT_EQ(out.View(0, out.size()), "before");
    return "malformed";
  }
  EXPECT_EQ(out.View(0, 6), "before");
  return std::string(out.View(6, out.size() - 6));
}

TEST(EntryCodecTest, WithoutSomeOfItsValuesAnEntryIsTheOneOfTheOthers) {
  const Value text = Value::String("text");
  const std::string all = BySet({Value::Int(1), text, Value::Int(1'000'000)});
  const std::string two = BySet({Value::Int(1), text, Value()});
  bool changed = false;
  EXPECT_EQ(Without(all, {2}, &changed), two);
  EXPECT_TRUE(changed);
  EXPECT_EQ(Without(two, {0}, &changed), BySet({Value(), text, Value()}));
  EXPECT_TRUE(changed);
}

TEST(EntryCodecTest, WithoutAnyOfManyValuesAnEntryIsTheOneOfTheOthers) {
  ColumnSet set{1, 300, {}};
  for (int i = 0; i < 40; ++i) set.columns.push_back({0, std::to_string(i)});
  std::mt19937 random(20261125);
  int short_ones = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<Value> values(set.columns.size());
    std::vector<Value> left = values;
    std::vector<bool> dropped(values.size());
    size_t kept = 0;
    bool any_goes = false;
    const auto seldom = 1 + random() % 40;
    for (size_t i = 0; i < values.size(); ++i) {
      dropped[i] = random() % seldom == 0;
      if (random() % 2 == 0) continue;
      const bool has_texts = round % 2 == 0;
      const auto most_bits = round % 4 < 2 ? 62 : 40;
      values[i] = has_texts && random() % 8 == 0 ? Value::String("text")
                                                 : Value::Int(int64_t{1} << random() % most_bits);
      any_goes = any_goes || dropped[i];
      if (dropped[i]) continue;
      left[i] = values[i];
      ++kept;
    }
    ByteBuffer entry;
    ByteBuffer expected;
    if (!AppendEntry(set, values, &entry)) continue;
    if (any_goes && kept > 0) AppendEntry(set, left, &expected);
    ByteBuffer out;
    bool changed = false;
    ASSERT_TRUE(DropValues(
        entry.View(0, entry.size()), values.size(), [&](size_t i, bool) { return dropped[i]; },
        &out, &changed));
    ASSERT_EQ(changed, any_goes);
    ASSERT_EQ(out.View(0, out.size()), expected.View(0, expected.size()));
    const std::string exact(entry.View(0, entry.size()));
    ShortValues found;
    if (!any_goes || kept == 0 || !found.Find(ValuesOfEntry(exact), values.size())) continue;
    ++short_ones;
    uint64_t goes = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      goes |= uint64_t{dropped[i] && !values[i].is_null()} << i;
    }
    std::string to(DroppedRoom(exact.size()), '\0');
    to.resize(static_cast<size_t>(DropShortValues(to.data(), exact, found, values.size(), goes) -
                                  to.data()));
    ASSERT_EQ(to, expected.View(0, expected.size()));
  }
  EXPECT_GT(short_ones, 500);
}

TEST(EntryCodecTest, WithoutAllOfItsValuesAnEntryIsNothing) {
  bool changed = false;
  EXPECT_EQ(Without(BySet({Value::Int(1), Value(), Value::Int(2)}), {0, 2}, &changed), "");
  EXPECT_TRUE(changed);
}

TEST(EntryCodecTest, OfAnEntryThatKeepsItsValuesNothingIsAppended) {
  bool changed = true;
  EXPECT_EQ(Without(BySet({Value::Int(1), Value(), Value::Int(2)}), {1}, &changed), "");
  EXPECT_FALSE(changed);
}

TEST(EntryCodecDamageTest, ValuesAreDroppedOfNothingMalformed) {
  const std::string whole = BySet({Value::Int(1), Value::String("text"), Value::Int(2)});
  const std::string numbers = BySet({Value::Int(1), Value::Int(1'000'000), Value::Int(2)});
  const std::string sparse = BySet({Value::Int(1), Value(), Value::Int(2)});
  std::string absent_in_whole = sparse;
  absent_in_whole[0] = static_cast<char>(EntryTag::kBySet);
  bool changed = false;
  for (const std::string& bytes :
       {absent_in_whole, whole + "x", std::string(), ByName({Value::Int(1), Value(), Value()})}) {
    EXPECT_EQ(Without(bytes, {0}, &changed), "malformed");
  }
  for (const std::string& bytes : {whole, numbers}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(Without(bytes.substr(0, size), {0}, &changed), "malformed") << size;
    }
  }
  EXPECT_EQ(Without(numbers + "\x10", {0}, &changed), "malformed");
}

TEST(EntryCodecDamageTest, EveryTruncationIsMalformed) {
  const std::string entries[] = {BySet({Value::Int(300), Value::String("text"), Value::Int(1)}),
                                 BySet({Value(), Value::Double(1.5), Value()}),
                                 ByName({Value::Int(1), Value::Bytes("b"), Value::Bool(true)})};
  for (const std::string& bytes : entries) {
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      Entry entry;
      EXPECT_FALSE(ReadEntry(std::string_view(bytes).substr(0, cut), &entry)) << cut;
    }
    Entry entry;
    EXPECT_FALSE(ReadEntry(bytes + "x", &entry)) << "nothing may be left over";
  }
}

TEST(EntryCodecDamageTest, WhatNoWriterWritesIsMalformed) {
  const auto reads = [](std::string_view bytes) {
    ByteReader in(bytes);
    EntryHead head;
    return GetEntryHead(&in, &head);
  };
  EXPECT_TRUE(reads("\x01\x05"));
  EXPECT_FALSE(reads(std::string_view("\0\x05", 2))) << "a tag that is not";
  EXPECT_FALSE(reads("\x04\x05"));
  std::string wide = "\x01";
  PutVarint(&wide, uint64_t{std::numeric_limits<uint32_t>::max()} + 1);
  EXPECT_FALSE(reads(wide)) << "a set of too great a number";
}

// Readers may reserve by the count: it is bounded by the bytes that are there.
TEST(EntryCodecDamageTest, MoreColumnsThanBytesAreMalformed) {
  std::string bytes = "\x02";
  PutVarint(&bytes, 1000);
  bytes.append(2999, '\0');
  ByteReader in(bytes);
  EntryHead head;
  EXPECT_FALSE(GetEntryHead(&in, &head));
}

TEST(EntryCodecDamageTest, DamagedEntriesAreRefusedOrRead) {
  const std::string entries[] = {BySet({Value::Int(300), Value::String("text"), Value::Int(1)}),
                                 ByName({Value::Int(1), Value::Bytes("b"), Value::Bool(true)})};
  for (const std::string& bytes : entries) {
    DamageManyTimes(bytes, [](std::string_view damaged) {
      Entry entry;
      if (ReadEntry(damaged, &entry)) {
        for (const Value& value : entry.values) ToText(value);
      }
      ValuesOfEntry(damaged);
      bool changed = false;
      Without(damaged, {0}, &changed);
    });
  }
}

}  // namespace
}  // namespace tallyd

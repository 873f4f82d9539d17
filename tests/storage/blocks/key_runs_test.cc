// Row keys of a block: runs of keys that differ by their time, written and read back.
#include "storage/blocks/key_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "storage/blocks/column_codec.h"

namespace tallyd {
namespace {

struct Key {
  std::string key;
  TimeUs time = 0;
};

std::string Encode(const std::vector<Key>& keys) {
  KeyRunBuilder builder;
  std::string_view last;
  for (const Key& key : keys) {
    builder.Add(key.key, key.time, CommonBytes(key.key, last));
    last = key.key;
  }
  std::string bytes;
  builder.Encode(&bytes);
  return bytes;
}

struct Read {
  bool good = false;
  std::vector<KeyRun> runs;
  std::string stems;
};

void ReadFrom(std::string_view bytes, uint32_t entries, Read* read) {
  ByteReader in(bytes);
  read->good = ReadKeyRuns(&in, entries, &read->runs, &read->stems) && in.done();
}

// The runs of these keys; each key can be made again of its run and its time.
std::vector<KeyTime> KindsOf(const std::vector<Key>& keys) {
  Read read;
  ReadFrom(Encode(keys), static_cast<uint32_t>(keys.size()), &read);
  EXPECT_TRUE(read.good);
  std::vector<KeyTime> kinds;
  std::string key;
  uint32_t next = 0;
  for (const KeyRun& run : read.runs) {
    EXPECT_EQ(run.begin, next);
    for (; next < run.end; ++next) {
      RenderKey(run, keys[next].time, &key);
      EXPECT_EQ(key, keys[next].key);
    }
    kinds.push_back(run.time);
  }
  EXPECT_EQ(next, keys.size());
  return kinds;
}

std::vector<Key> Series(const char* pattern, int64_t unit) {
  std::vector<Key> keys;
  for (TimeUs time = 1'735'689'600'000'000; keys.size() < 5; time += 5'000'000) {
    keys.push_back({fmt::format(fmt::runtime(pattern), time / unit), time});
  }
  return keys;
}

TEST(KeyRunsTest, KeysThatDifferByTheirTimeAreOneRun) {
  EXPECT_EQ(KindsOf(Series("m#{}", 1000)), std::vector{KeyTime::kMs});
  EXPECT_EQ(KindsOf(Series("{}#m", 1'000'000)), std::vector{KeyTime::kS});
  EXPECT_EQ(KindsOf(Series("a#{}#b", 1)), std::vector{KeyTime::kUs});
}

TEST(KeyRunsTest, ReversedTimesAreARunToo) {
  std::vector<Key> keys;
  for (TimeUs time = 9'000'000; time >= 1'000'000; time -= 1'000'000) {
    keys.push_back({fmt::format("m#{}", std::numeric_limits<int64_t>::max() - time / 1000), time});
  }
  EXPECT_EQ(KindsOf(keys), std::vector{KeyTime::kReverseMs});
}

TEST(KeyRunsTest, TheDigitsOfSecondsMayStandBeforeThoseOfTheWholeTime) {
  EXPECT_EQ(KindsOf(Series("1735689600#{}", 1000)), std::vector{KeyTime::kMs});
  EXPECT_EQ(KindsOf({{"0000000000#x", 0}}), std::vector{KeyTime::kS});
  EXPECT_EQ(KindsOf({{"0000000001#x", 0}}), std::vector{KeyTime::kNone});
}

TEST(KeyRunsTest, OneKeyOfManyTimesIsOneRun) {
  EXPECT_EQ(KindsOf({{"row", 30}, {"row", 20}, {"row", 10}}), std::vector{KeyTime::kNone});
}

TEST(KeyRunsTest, ATimeOfOtherDigitsThanItsKeyBeginsAnotherRun) {
  const Key first{"m#1735689600000", 1'735'689'600'000'000};
  EXPECT_EQ(KindsOf({first, {"m#1735689600001", 1'735'689'600'001'000}}).size(), 1u);
  EXPECT_EQ(KindsOf({first, {"m#1735689600001", 1'735'689'600'002'000}}).size(), 2u);
  // The last digits are those of the key, the first are not.
  EXPECT_EQ(KindsOf({first, {"m#1735689600001", 1'635'689'600'001'000}}).size(), 2u);
  EXPECT_EQ(KindsOf({first, {"m#1635689600001", 1'735'689'600'001'000}}).size(), 2u);
  EXPECT_EQ(KindsOf({first, {"m#1635689600001", 1'635'689'600'001'000}}).size(), 1u);
  EXPECT_EQ(KindsOf({first, {first.key, 1'635'689'600'000'000}}).size(), 2u);
}

TEST(KeyRunsTest, WhatFollowsAnotherBlocksRunIsLookedAtInFull) {
  const KeyRun run{0, 1, "m#", KeyTime::kMs, 2};
  for (const TimeUs time : {1'735'689'600'001'000, 1'835'689'600'001'000}) {
    KeyRunBuilder builder;
    builder.Add("m#1735689600000", 1'735'689'600'000'000, 0);
    builder.AddRun(run, 1);  // m#1835689600000.
    builder.Add("m#1835689600001", time, 14);
    EXPECT_EQ(builder.runs(), time == 1'835'689'600'001'000 ? 1u : 2u);
  }
}

TEST(KeyRunsTest, AnotherStemOrPlaceBeginsAnotherRun) {
  EXPECT_EQ(KindsOf({{"a", 1}, {"b", 1}}).size(), 2u);
  EXPECT_EQ(KindsOf({{"a#0000000000001", 1000}, {"b#0000000000001", 1000}}).size(), 2u);
  EXPECT_EQ(KindsOf({{"a0000000000001", 1000}, {"a00000000000010", 1000}}).size(), 2u);
}

TEST(KeyRunsTest, KeysOfAnyBytesComeBack) {
  using std::string_literals::operator""s;
  KindsOf({{"", 0}, {"\0"s, 0}, {"\0\xff\x01"s, 5}, {std::string(4096, '\xff'), 5}});
}

TEST(KeyRunsTest, TwoTimesMakeOneKeyWhereTheirDigitsAreTheSame) {
  EXPECT_TRUE(SameKeyTime(KeyTime::kMs, 1000, 1999));
  EXPECT_FALSE(SameKeyTime(KeyTime::kMs, 1999, 2000));
  EXPECT_TRUE(SameKeyTime(KeyTime::kS, 1'000'000, 1'999'999));
  EXPECT_FALSE(SameKeyTime(KeyTime::kUs, 1, 2));
  EXPECT_TRUE(SameKeyTime(KeyTime::kReverseMs, 1000, 1999));
  EXPECT_TRUE(SameKeyTime(KeyTime::kNone, 1, 1'000'000'000));
}

TEST(KeyRunsTest, RunsThatGoOnAreJoined) {
  const KeyRun run{0, 3, "m#", KeyTime::kMs, 2};
  KeyRunBuilder builder;
  builder.AddRun(run, 3);
  builder.AddRun(run, 4);
  builder.Add("m#0000000000009", 9000, 0);
  std::string bytes;
  builder.Encode(&bytes);
  Read read;
  ReadFrom(bytes, 8, &read);
  ASSERT_TRUE(read.good);
  EXPECT_EQ(read.runs.size(), 1u);
}

TEST(KeyRunsTest, AClearedBuilderHoldsNothing) {
  KeyRunBuilder builder;
  builder.Add("a", 1, 0);
  EXPECT_EQ(builder.bytes(), 1u);
  builder.Clear();
  EXPECT_EQ(builder.bytes(), 0u);
}

std::vector<Key> RandomKeys(std::mt19937_64& random) {
  std::vector<Key> keys;
  const uint64_t entities = 1 + random() % 4;
  const uint64_t kind = random() % 5;
  for (uint64_t count = 1 + random() % 100; count > 0; --count) {
    const auto time = static_cast<TimeUs>(random() % static_cast<uint64_t>(kMaxTimeUs));
    const int64_t by_kind[] = {time, time / 1000, time / 1'000'000,
                               std::numeric_limits<int64_t>::max() - time / 1000, 7};
    keys.push_back({fmt::format("m{}#{:013}#", random() % entities, by_kind[kind]), time});
  }
  return keys;
}

TEST(KeyRunsTest, AnyKeysComeBack) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) KindsOf(RandomKeys(random));
}

// One run as it is stored, without the text around it.
struct RawRun {
  uint64_t entries, kind, place, shared, more;
};
bool Reads(const std::vector<RawRun>& runs, std::string_view suffixes, uint32_t entries) {
  std::string numbers;
  for (const RawRun& run : runs) {
    for (const uint64_t number : {run.entries, run.kind, run.place, run.shared, run.more}) {
      PutVarint(&numbers, number);
    }
  }
  std::string bytes;
  PutVarint(&bytes, runs.size());
  AppendText(numbers, &bytes);
  AppendText(suffixes, &bytes);
  Read read;
  ReadFrom(bytes, entries, &read);
  return read.good;
}

TEST(KeyRunsDamageTest, WhatNoWriterWritesIsMalformed) {
  EXPECT_TRUE(Reads({{2, 1, 2, 0, 2}}, "m#", 2));
  EXPECT_FALSE(Reads({{2, 1, 2, 0, 2}}, "m#", 3)) << "entries without a run";
  EXPECT_FALSE(Reads({{3, 1, 2, 0, 2}}, "m#", 2)) << "a run of too many";
  EXPECT_FALSE(Reads({{2, 1, 2, 0, 2}, {0, 1, 2, 2, 0}}, "m#", 2)) << "an empty run";
  EXPECT_FALSE(Reads({{2, 5, 2, 0, 2}}, "m#", 2)) << "a kind that is not";
  EXPECT_FALSE(Reads({{2, 1, 3, 0, 2}}, "m#", 2)) << "a place behind the stem";
  EXPECT_FALSE(Reads({{2, 1, 2, 1, 1}}, "m#", 2)) << "nothing to share with";
  EXPECT_FALSE(Reads({{2, 1, 2, 0, 3}}, "m#", 2)) << "more than there is";
  EXPECT_FALSE(Reads({{2, 1, 2, 0, 2}}, "m#x", 2)) << "text left over";
  EXPECT_FALSE(Reads({{1, 0, 0, 0, 4097}}, std::string(4097, 'x'), 1)) << "no key is so long";
}

TEST(KeyRunsDamageTest, StemsThatShareMuchAreBounded) {
  std::vector<RawRun> runs(60'000, {1, 0, 0, 4096, 0});
  runs[0] = {1, 0, 0, 0, 4096};
  EXPECT_FALSE(Reads(runs, std::string(4096, 'x'), 60'000)) << "240 MB of stems";
}

TEST(KeyRunsDamageTest, DamagedBytesAreErrorsOrKeysButNeverACrash) {
  std::mt19937_64 random(2);
  std::string key;
  for (int round = 0; round < 5000; ++round) {
    const std::vector<Key> keys = RandomKeys(random);
    const auto entries = static_cast<uint32_t>(keys.size());
    std::string bytes = Encode(keys);
    Read read;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    ReadFrom(bytes, entries, &read);
    if (!read.good) continue;
    ASSERT_EQ(read.runs.back().end, entries);
    for (const KeyRun& run : read.runs) RenderKey(run, keys[run.begin].time, &key);
  }
}

}  // namespace
}  // namespace tallyd

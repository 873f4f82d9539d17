// Which entries have a column: bits that come back as they were, or are refused.
#include "storage/blocks/presence.h"

#include <gtest/gtest.h>

#include <random>

#include "storage/blocks/column_codec.h"

namespace tallyd {
namespace {

class PresenceTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  // One of so many entries has it; but for the first or the last one, none or all.
  std::vector<bool> RandomBits(uint64_t one_in) {
    std::vector<bool> bits(GetParam());
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = random_() % one_in == 0;
    bits[random_() % bits.size()] = true;
    return bits;
  }
  static Presence Make(const std::vector<bool>& bits) {
    Presence presence;
    presence.Reset(static_cast<uint32_t>(bits.size()));
    for (uint32_t i = 0; i < bits.size(); ++i) {
      if (bits[i]) presence.Set(i);
    }
    presence.Count();
    return presence;
  }
  static void ExpectBits(const Presence& presence, const std::vector<bool>& bits) {
    ASSERT_EQ(presence.entries(), bits.size());
    uint32_t before = 0;
    for (uint32_t i = 0; i < bits.size(); ++i) {
      ASSERT_EQ(presence.Has(i), bits[i]) << i;
      ASSERT_EQ(presence.PlaceOf(i), before) << i;
      before += bits[i] ? 1 : 0;
    }
    EXPECT_EQ(presence.PlaceOf(presence.entries()), before);
    EXPECT_EQ(presence.count(), before);
    EXPECT_EQ(presence.is_whole(), before == bits.size());
  }

  std::mt19937_64 random_{GetParam()};
};

TEST_P(PresenceTest, BitsComeBackAndTellThePlacesOfValues) {
  for (const uint64_t one_in : {1, 2, 3, 20, 1000}) {
    const std::vector<bool> bits = RandomBits(one_in);
    const Presence made = Make(bits);
    ExpectBits(made, bits);
    std::string bytes;
    AppendPresence(made, &bytes);
    ByteReader in(bytes);
    Presence read;
    ASSERT_TRUE(ReadPresence(&in, GetParam(), &read));
    EXPECT_TRUE(in.done());
    ExpectBits(read, bits);
  }
}

TEST_P(PresenceTest, ARandomChoiceTakesABitAnEntry) {
  std::string bytes;
  AppendPresence(Make(RandomBits(2)), &bytes);
  EXPECT_LE(bytes.size(), (GetParam() + 7) / 8 + 4);
}

TEST_P(PresenceTest, TimesArePickedFromAnyStretch) {
  const std::vector<bool> bits = RandomBits(2);
  const Presence presence = Make(bits);
  std::vector<TimeUs> times(bits.size());
  for (size_t i = 0; i < times.size(); ++i) times[i] = static_cast<TimeUs>(i * 7);
  for (int round = 0; round < 50; ++round) {
    const size_t first = random_() % bits.size();
    const size_t count = random_() % (bits.size() - first + 1);
    std::vector<TimeUs> expected;
    for (size_t i = first; i < first + count; ++i) {
      if (bits[i]) expected.push_back(times[i]);
    }
    const auto begin = static_cast<uint32_t>(first);
    const auto end = static_cast<uint32_t>(first + count);
    std::vector<TimeUs> picked(presence.PlaceOf(end) - presence.PlaceOf(begin));
    presence.Pick(std::span(times).subspan(first, count), begin, picked.data());
    ASSERT_EQ(picked, expected);
  }
}

TEST_P(PresenceTest, ItTellsHowOftenItChanges) {
  const std::vector<bool> bits = RandomBits(3);
  uint32_t changes = 0;
  for (size_t i = 1; i < bits.size(); ++i) changes += bits[i] != bits[i - 1];
  const uint32_t told = Make(bits).Changes();
  EXPECT_GE(told, changes);
  EXPECT_LE(told, changes + 1) << "behind the last entry there is none";
}

TEST_P(PresenceTest, WhatTwoHaveTogetherIsJoined) {
  const std::vector<bool> a = RandomBits(3);
  const std::vector<bool> b = RandomBits(3);
  std::vector<bool> both(a.size());
  for (size_t i = 0; i < a.size(); ++i) both[i] = a[i] || b[i];
  Presence joined = Make(a);
  joined.Join(Make(b));
  joined.Count();
  ExpectBits(joined, both);
}

TEST_P(PresenceTest, BitsBeyondTheEntriesNoneAndAllAreRefused) {
  const size_t bytes = (GetParam() + 7) / 8;
  const auto reads = [&](const std::string& bits) {
    std::string text;
    PutVarint(&text, bits.size());
    PutString(&text, bits);
    ByteReader in(text);
    Presence presence;
    return ReadPresence(&in, GetParam(), &presence);
  };
  EXPECT_FALSE(reads(std::string(bytes, '\0'))) << "a column that no entry has is in no block";
  std::string all(bytes, '\xff');
  EXPECT_FALSE(reads(all)) << "it is said by nothing, or some are beyond";
  if (GetParam() % 8 != 0) {
    std::string beyond(bytes, '\0');
    beyond[0] = 1;
    beyond.back() = static_cast<char>(beyond.back() | 1 << GetParam() % 8);
    EXPECT_FALSE(reads(beyond));
    all.back() = static_cast<char>((1 << GetParam() % 8) - 1);
    EXPECT_FALSE(reads(all));
  }
  for (const size_t wrong : {bytes - 1, bytes + 1, bytes + 8}) {
    if (wrong > 0) {
      EXPECT_FALSE(reads(std::string(wrong, '\x01'))) << wrong;
    }
  }
}

TEST_P(PresenceTest, EveryTruncationIsRefused) {
  for (const uint64_t one_in : {2, 500}) {
    std::string bytes;
    AppendPresence(Make(RandomBits(one_in)), &bytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in(std::string_view(bytes).substr(0, size));
      Presence presence;
      ASSERT_FALSE(ReadPresence(&in, GetParam(), &presence)) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PresenceTest,
                         ::testing::Values(1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 2048, 65'536));

}  // namespace
}  // namespace tallyd

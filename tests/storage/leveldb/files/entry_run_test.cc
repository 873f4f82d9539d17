// Runs of entries: the record of a group, and runs merged to few.
#include "storage/leveldb/files/entry_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/leveldb/files/entry_run_helper.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

std::vector<std::string> KeysOf(const EntryRun& run) {
  std::vector<std::string> keys;
  for (const EntryRun::Entry& entry : run.entries()) keys.emplace_back(entry.key());
  return keys;
}

TEST(EntryRunTest, AGroupIsSortedByItsKeys) {
  const std::string a = KeyOf("a", 1, 9);
  const std::string b = KeyOf(std::string("a\0b", 3), 1, 8);
  const std::string c = KeyOf("ab", 1, 7);
  EXPECT_EQ(KeysOf(*RunOf({{c, "C"}, {a, "A"}, {b, "B"}})), (std::vector{a, b, c}));
  EXPECT_EQ(EntrySorter().TakeRun(), nullptr);
}

TEST(EntryRunTest, KeysThatDifferAfterEightBytesAreSortedToo) {
  std::vector<std::pair<std::string, std::string>> entries;
  std::vector<std::string> sorted;
  for (int i = 99; i >= 0; --i) entries.emplace_back(KeyOf("the same row", i, 5), "v");
  for (const auto& [key, value] : entries) sorted.push_back(key);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(KeysOf(*RunOf(entries)), sorted);
}

// Runs of so many keys, whose rows have what `end` returns behind more and more bytes that are the
// same; their times are less than `times`.
void ExpectSorted(size_t count, TimeUs times, std::mt19937_64* random,
                  const std::function<std::string(size_t same)>& end) {
  for (size_t same = 0; same < 40; ++same) {
    std::vector<std::pair<std::string, std::string>> entries;
    std::set<std::string> sorted;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string row = std::string(same, 'r') + end(same);
      const auto time = static_cast<TimeUs>((*random)() % static_cast<uint64_t>(times));
      entries.emplace_back(KeyOf(row, time, i), "v");
      sorted.insert(entries.back().first);
    }
    EXPECT_THAT(KeysOf(*RunOf(entries)), ::testing::ElementsAreArray(sorted)) << same;
  }
}

TEST(EntryRunTest, KeysAreSortedWhereverTheyDiffer) {
  std::mt19937_64 random(1);
  ExpectSorted(50, 3, &random, [&](size_t) {
    const std::string row(1, static_cast<char>('a' + random() % 3));
    return row + std::string(random() % 12, 's');
  });
}

TEST(EntryRunTest, KeysThatDifferInEveryBitAreSortedToo) {
  std::mt19937_64 random(3);
  ExpectSorted(200, kMaxTimeUs, &random, [&](size_t same) {
    std::string row;
    for (uint64_t bytes = random() % 40; bytes > 0; --bytes) {
      row += static_cast<char>(random() % (same % 2 == 0 ? 256 : 3));
    }
    return row;
  });
}

void ExpectCodes(const EntryRun& run) {
  std::string_view before;
  for (const EntryRun::Entry& entry : run.entries()) {
    EXPECT_EQ(entry.code, CodeBehind(entry.key(), CommonBytes(entry.key(), before)));
    before = entry.key();
  }
}

// Of which many have the next eight bytes in common, and the eight behind these.
TEST(EntryRunTest, ThousandsOfKeysAreSortedAndCodedToo) {
  std::mt19937_64 random(2);
  std::set<std::string> sorted;
  std::vector<std::pair<std::string, std::string>> entries;
  for (uint64_t i = 0; i < 6000; ++i) {
    std::string row(random() % 2, 'r');
    for (const size_t digits : {7, 9}) {
      row += random() % 3 == 0 ? std::string(digits, '5')
                               : fmt::format("{:0{}}", random() % 1'000'000, digits);
    }
    entries.emplace_back(KeyOf(row, static_cast<TimeUs>(random() % 1000), i), "v");
    sorted.insert(entries.back().first);
  }
  const auto run = RunOf(entries);
  EXPECT_THAT(KeysOf(*run), ::testing::ElementsAreArray(sorted));
  ExpectCodes(*run);
}

TEST(EntryRunTest, EachKeyIsCodedAgainstTheOneBeforeIt) {
  std::mt19937_64 random(2);
  std::vector<EntryRunPtr> runs;
  for (uint64_t run = 0; run < 11; ++run) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (uint64_t i = 0; i < 30; ++i) {
      const std::string row(1 + random() % 20, static_cast<char>('a' + random() % 2));
      entries.emplace_back(KeyOf(row, static_cast<TimeUs>(random() % 1000), run * 100 + i), "v");
    }
    runs.push_back(RunOf(entries));
    ExpectCodes(*runs.back());
    ExpectCodes(**EntryRun::Decode(runs.back()->record()));
  }
  ExpectCodes(*EntryRun::Merge(runs));
  ExpectCodes(
      *EntryRun::Merge(std::vector{EntryRun::Merge(runs), RunOf({{KeyOf("b", 1, 1), "v"}})}));
}

TEST(EntryRunTest, TheRecordOfAGroupIsReadBack) {
  const EntryRunPtr run = RunOf({{KeyOf("b", 1, 2), "two"}, {KeyOf("a", 1, 1), "one"}});
  const Result<EntryRunPtr> read = EntryRun::Decode(std::string(run->record()));
  ASSERT_TRUE(read);
  EXPECT_EQ(KeysOf(**read), KeysOf(*run));
  EXPECT_EQ((*read)->entries()[1].value(), "two");
}

TEST(EntryRunTest, ARecordThatIsCutOrOutOfOrderIsRefused) {
  const std::string record(RunOf({{KeyOf("a", 1, 1), "one"}, {KeyOf("b", 1, 2), "two"}})->record());
  const size_t half = record.size() / 2;
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_EQ(EntryRun::Decode(record.substr(0, size)).has_value(), size == half) << size;
  }
  EXPECT_FALSE(EntryRun::Decode(record.substr(half) + record.substr(0, half)));
  EXPECT_FALSE(EntryRun::Decode(record.substr(0, half) + record.substr(0, half)));
}

TEST(ManyGroupsTest, StayFewAndAreCopiedSeldomHoweverManyCome) {
  EntryRuns runs;
  std::string key = KeyOf("row", 1, 1);
  size_t copied = 0;
  for (uint64_t group = 0; group < 20'000; ++group) {
    PatchSequence(key.data(), key.size(), group);
    const EntryRunPtr added = RunOf({{key, "v"}});
    runs = runs.With(added);
    if (runs.list().back() != added) copied += runs.list().back()->entries().size();
    ASSERT_LT(runs.list().size(), 40u);
  }
  size_t entries = 0;
  for (const EntryRunPtr& run : runs.list()) entries += run->entries().size();
  EXPECT_EQ(entries, 20'000u);
  EXPECT_LT(copied, 10 * entries);
}

TEST(ManyGroupsTest, StayFewAndAreCopiedSeldomWhateverTheirSizes) {
  std::mt19937_64 random(1);
  EntryRuns runs;
  size_t entries = 0;
  size_t copied = 0;
  for (int group = 0; group < 300; ++group) {
    std::vector<std::pair<std::string, std::string>> added;
    const size_t sizes[] = {1, 10, 100, 1000};
    for (size_t i = sizes[random() % 4]; i > 0; --i) {
      added.emplace_back(KeyOf("row", 1, ++entries), "v");
    }
    const EntryRunPtr run = RunOf(added);
    runs = runs.With(run);
    if (runs.list().back() != run) copied += runs.list().back()->entries().size();
    ASSERT_LT(runs.list().size(), 80u);
  }
  EXPECT_LT(copied, 10 * entries);
}

TEST(ManyGroupsTest, OfAnEarlierMomentStayWhatTheyWere) {
  EntryRuns before;
  for (int group = 0; group < 7; ++group) {
    before = before.With(RunOf({{KeyOf("row", group, 1), "v"}}));
  }
  const EntryRuns after = before.With(RunOf({{KeyOf("row", 8, 1), "v"}}));
  EXPECT_EQ(before.list().size(), 7u);
  EXPECT_EQ(after.list().size(), 1u);
}

}  // namespace
}  // namespace tallyd

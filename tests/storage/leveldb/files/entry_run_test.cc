// Runs of entries: the record of a group, runs merged to few, and one iterator over all of them,
// compared with a map.
#include "storage/leveldb/files/entry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

using Entries = std::map<std::string, std::string>;

std::string KeyOf(std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  char* const end = EncodeEntryKey(key.data(), 3, row, time);
  key.resize(static_cast<size_t>(end - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

EntryRunPtr RunOf(const std::vector<std::pair<std::string, std::string>>& entries) {
  EntrySorter sorter;
  for (const auto& [key, value] : entries) sorter.Add(key, value);
  return sorter.TakeRun();
}

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

// Groups of any size, so that runs of all sizes are merged.
class EntryRunsTest : public ::testing::TestWithParam<int> {
 protected:
  EntryRunsTest() : random_(static_cast<uint64_t>(GetParam())) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  void AddGroup(size_t entries) {
    std::vector<std::pair<std::string, std::string>> group;
    for (size_t i = 0; i < entries; ++i) {
      const std::string row(1 + Below(3), static_cast<char>('a' + Below(5)));
      ++sequence_;
      group.emplace_back(KeyOf(row, static_cast<TimeUs>(Below(50)), sequence_),
                         std::to_string(sequence_));
      all_.insert(group.back());
    }
    runs_ = runs_.With(RunOf(group));
  }
  void ExpectAt(const RunIterator& at, Entries::const_iterator expected) {
    ASSERT_EQ(at.Valid(), expected != all_.end());
    if (!at.Valid()) return;
    EXPECT_EQ(at.entry().key(), expected->first);
    EXPECT_EQ(at.entry().value(), expected->second);
  }

  std::mt19937_64 random_;
  uint64_t sequence_ = 0;
  Entries all_;
  EntryRuns runs_;
};

TEST_P(EntryRunsTest, AreReadAsOneInBothDirections) {
  for (int group = 0; group < 60; ++group) AddGroup(1 + Below(1 + Below(40)));
  RunIterator at(runs_.list());
  EXPECT_FALSE(at.Valid());
  at.Seek({});
  auto expected = all_.cbegin();
  for (int step = 0; step < 2000; ++step) {
    ExpectAt(at, expected);
    const uint64_t what = Below(10);
    if (what == 0 || !at.Valid()) {
      const std::string key = KeyOf("bb", static_cast<TimeUs>(Below(60)), Below(2000))
                                  .replace(5, 1, 1, static_cast<char>('a' + Below(6)));
      at.Seek(key);
      expected = all_.lower_bound(key);
    } else if (what < 7) {
      at.Next();
      ++expected;
    } else {
      EXPECT_EQ(at.Prev(), expected != all_.cbegin());
      if (expected != all_.cbegin()) --expected;
    }
  }
  at.SeekToEnd();
  EXPECT_FALSE(at.Valid());
  EXPECT_TRUE(at.Prev());
  ExpectAt(at, std::prev(all_.cend()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, EntryRunsTest, ::testing::Range(1, 9));

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

// Runs of entries read as one, compared with a map.
#include "storage/leveldb/files/run_iterator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/leveldb/files/entry_run_helper.h"

namespace tallyd {
namespace {

using Entries = std::map<std::string, std::string>;

// Groups of any size, so that runs of all sizes are merged.
class RunIteratorTest : public ::testing::TestWithParam<int> {
 protected:
  RunIteratorTest() : random_(static_cast<uint64_t>(GetParam())) {}

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
  // Of all runs together, in order; their keys' beginning.
  void TakeRow(std::string_view prefix, RunIterator* at, Entries::const_iterator* expected) {
    std::vector<EntryRun::Entry> taken;
    const auto take = [&](const EntryRun::Entry& entry) { taken.push_back(entry); };
    do {
      at->TakePrefix(prefix, take);
    } while (at->Valid() && at->Continues(prefix));
    EXPECT_FALSE(at->Valid() && at->entry().key().starts_with(prefix));
    Entries all;
    for (const EntryRun::Entry& entry : taken) all.emplace(entry.key(), entry.value());
    Entries of_row;
    for (; *expected != all_.cend() && (*expected)->first.starts_with(prefix); ++*expected) {
      of_row.insert(**expected);
    }
    EXPECT_EQ(taken.size(), of_row.size());
    EXPECT_EQ(all, of_row);
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

TEST_P(RunIteratorTest, AreReadAsOneInBothDirections) {
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
    } else if (what == 1) {
      // Of any length: a row's, or one that ends within it.
      TakeRow(std::string(expected->first.substr(0, 6 + Below(20))), &at, &expected);
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

INSTANTIATE_TEST_SUITE_P(Seeds, RunIteratorTest, ::testing::Range(1, 9));

TEST(RunIteratorOfFewRunsTest, EndsAtOnceWhereThereAreNone) {
  RunIterator at({});
  at.Seek({});
  EXPECT_FALSE(at.Valid());
  at.SeekToEnd();
  EXPECT_FALSE(at.Prev());
}

TEST(RunIteratorOfFewRunsTest, GivesAllOfThemHoweverManyThereAre) {
  for (uint64_t count = 1; count < 20; ++count) {
    std::vector<EntryRunPtr> runs;
    for (uint64_t run = 0; run < count; ++run) {
      runs.push_back(RunOf({{KeyOf("a", 1, run), "v"}, {KeyOf("b", 1, run), "v"}}));
    }
    RunIterator at(runs);
    uint64_t given = 0;
    for (at.Seek({}); at.Valid(); at.Next(), ++given) {
      // The latest of a time comes first.
      EXPECT_EQ(at.entry().key(), KeyOf(given < count ? "a" : "b", 1, count - 1 - given % count));
    }
    EXPECT_EQ(given, 2 * count);
  }
}

}  // namespace
}  // namespace tallyd

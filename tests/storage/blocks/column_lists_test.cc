// Which columns entries have, as they come, and in which form a block should hold it.
#include "storage/blocks/column_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tallyd {
namespace {

using List = std::vector<uint32_t>;

class ColumnListsTest : public ::testing::Test {
 protected:
  void Add(const List& list) { lists_.AddEntries(lists_.NumberOf(list), 1); }
  // Of so many columns some, another choice each time.
  void AddChoices(int entries, uint32_t columns, uint32_t some) {
    List all(columns);
    for (uint32_t i = 0; i < columns; ++i) all[i] = i;
    for (int i = 0; i < entries; ++i) {
      List chosen;
      std::sample(all.begin(), all.end(), std::back_inserter(chosen), some, random_);
      Add(chosen);
    }
  }

  std::mt19937 random_{1};
  ColumnLists lists_;
};

TEST_F(ColumnListsTest, EqualListsAreOneAndTheirOrderCounts) {
  for (const List& list : {List{0, 1}, List{1, 0}, List{0, 1}, List{2}, List{1, 0}}) Add(list);
  ASSERT_EQ(lists_.size(), 3u);
  const std::vector<int64_t> of_entries(lists_.of_entries().begin(), lists_.of_entries().end());
  EXPECT_EQ(of_entries, (std::vector<int64_t>{0, 1, 0, 2, 1}));
  EXPECT_EQ(List(lists_[1].begin(), lists_[1].end()), (List{1, 0}));
  EXPECT_EQ(lists_.cells(), 9u);
  lists_.Clear();
  EXPECT_EQ(lists_.size(), 0u);
  EXPECT_EQ(lists_.cells(), 0u);
}

TEST_F(ColumnListsTest, PresencesTellOfEachColumnWhoseListsHaveIt) {
  AddChoices(700, 9, 4);
  const std::span<const Presence> presences = lists_.Presences(9);
  for (uint32_t entry = 0; entry < 700; ++entry) {
    const auto list = lists_[static_cast<size_t>(lists_.of_entries()[entry])];
    for (uint32_t column = 0; column < 9; ++column) {
      const bool has = std::ranges::find(list, column) != list.end();
      ASSERT_EQ(presences[column].Has(entry), has);
    }
  }
}

TEST_F(ColumnListsTest, WhatPresencesTakeIsKnownWithoutThem) {
  for (int round = 0; round < 300; ++round) {
    lists_.Clear();
    const size_t columns = 1 + random_() % 12;
    const size_t again = random_() % 8;  // In eighths: how often a list comes again at once.
    List list;
    for (size_t left = 1 + random_() % 200; left > 0; --left) {
      if (list.empty() || random_() % 8 >= again) {
        List all(columns);
        std::iota(all.begin(), all.end(), 0u);
        std::ranges::shuffle(all, random_);
        all.resize(1 + random_() % columns);
        list = all;
      }
      Add(list);
    }
    size_t bytes = 0;
    for (const Presence& presence : lists_.Presences(columns)) {
      bytes += PresenceBytes(presence.entries(), presence.count(), presence.Changes());
    }
    ASSERT_EQ(lists_.PresencesBytes(columns), bytes) << "round " << round;
  }
}

TEST_F(ColumnListsTest, AnotherChoiceEachTimeIsSmallerByPresence) {
  AddChoices(2048, 30, 15);
  EXPECT_FALSE(lists_.AreTooMany(30)) << "only entries fill a block";
  EXPECT_TRUE(lists_.ArePresencesSmaller(30));
}

TEST_F(ColumnListsTest, FewListsOfManyColumnsStayLists) {
  List first(40);
  List second(40);
  for (uint32_t i = 0; i < 40; ++i) {
    first[i] = i;
    second[i] = 40 + i;
  }
  for (int i = 0; i < 2048; ++i) Add(random_() % 2 == 0 ? first : second);
  EXPECT_FALSE(lists_.ArePresencesSmaller(80));
}

TEST_F(ColumnListsTest, ListsThatFewEntriesChangeStayLists) {
  List list(10);
  for (uint32_t i = 0; i < 2048; ++i) {
    for (uint32_t c = 0; c < 10; ++c) list[c] = i / 256 * 10 + c;
    Add(list);
  }
  EXPECT_EQ(lists_.size(), 8u);
  EXPECT_FALSE(lists_.ArePresencesSmaller(80));
}

TEST_F(ColumnListsTest, FewOfVeryManyColumnsAreTooManyListsOnceTheyAreMany) {
  AddChoices(200, 3000, 5);
  EXPECT_FALSE(lists_.AreTooMany(3000));
  AddChoices(100, 3000, 5);
  EXPECT_TRUE(lists_.AreTooMany(3000));
  EXPECT_FALSE(lists_.ArePresencesSmaller(3000));
}

}  // namespace
}  // namespace tallyd

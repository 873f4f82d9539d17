#include <gtest/gtest.h>

#include "storage/leveldb/latest/latest_group.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 4;

std::shared_ptr<const DeleteRange> At(uint64_t sequence, TableId table = kTable) {
  return std::make_shared<const DeleteRange>(table, sequence, DeleteSpec{});
}

TEST(LatestDeletesTest, AListStaysAsItWasTaken) {
  LatestDeletes deletes;
  const DeleteListPtr before = deletes.Of(kTable);
  deletes.Add({At(5), At(6), At(7, 9)});
  EXPECT_TRUE(before->empty());
  EXPECT_EQ(deletes.Of(kTable)->size(), 2u);
  EXPECT_EQ(deletes.Of(9)->size(), 1u);
  EXPECT_EQ(deletes.last(), 7u);
}

TEST(LatestDeletesTest, ReadersOfAnOlderListAreWaitedFor) {
  LatestDeletes deletes;
  const auto first = At(5), second = At(9);
  DeleteListPtr before_both = deletes.Of(kTable);
  deletes.Add({first});
  EXPECT_TRUE(deletes.HasReadersBefore(*first));
  before_both.reset();
  EXPECT_FALSE(deletes.HasReadersBefore(*first));
  DeleteListPtr between = deletes.Of(kTable);
  deletes.Add({second});
  EXPECT_FALSE(deletes.HasReadersBefore(*first)) << "who reads by a list with it is no matter";
  EXPECT_TRUE(deletes.HasReadersBefore(*second));
  between.reset();
  const DeleteListPtr with_both = deletes.Of(kTable);
  EXPECT_FALSE(deletes.HasReadersBefore(*second));
}

TEST(LatestDeletesTest, OfTwoThatComeTogetherNeitherIsInTheOlderList) {
  LatestDeletes deletes;
  const auto first = At(5), second = At(9);
  const DeleteListPtr before = deletes.Of(kTable);
  deletes.Add({first, second});
  EXPECT_TRUE(deletes.HasReadersBefore(*first));
  EXPECT_TRUE(deletes.HasReadersBefore(*second));
}

TEST(LatestDeletesTest, WhoReadsByAListOfAppliedDeletesDoesNotKnowTheNext) {
  LatestDeletes deletes;
  const auto first = At(5), second = At(9);
  deletes.Add({first});
  const DeleteListPtr with_first = deletes.Of(kTable);
  deletes.SetApplied(first, deletes.generation(), 5);
  deletes.Add({second});
  EXPECT_TRUE(deletes.HasReadersBefore(*second));
}

TEST(LatestDeletesTest, OfADroppedTableNoneIsLeftToApply) {
  LatestDeletes deletes;
  deletes.Add({At(5), At(6), At(7, 9)});
  deletes.SetAllApplied(kTable);
  EXPECT_TRUE(deletes.Of(kTable)->empty());
  EXPECT_TRUE(deletes.any()) << "those of the other table";
  deletes.SetAllApplied(9);
  EXPECT_FALSE(deletes.any());
  EXPECT_EQ(deletes.AllApplied().size(), 3u) << "they are on record";
}

TEST(LatestDeletesTest, TheVersionTellsWhenThereAreMore) {
  LatestDeletes deletes;
  const uint64_t first = deletes.version();
  deletes.Add({});
  EXPECT_EQ(deletes.version(), first);
  deletes.Add({At(5)});
  EXPECT_GT(deletes.version(), first);
}

TEST(LatestDeletesTest, AnAppliedDeleteHidesNothingAndStaysOnRecord) {
  LatestDeletes deletes;
  const auto deleted = At(5);
  deletes.Add({deleted});
  EXPECT_TRUE(deletes.any());
  deletes.SetApplied(deleted, deletes.generation(), 8);
  EXPECT_FALSE(deletes.any());
  EXPECT_TRUE(deletes.Of(kTable)->empty());
  EXPECT_EQ(deletes.size(), 1u);
  EXPECT_EQ(deletes.last(), 8u) << "what was written before it was applied may hold some of it";
  deletes.ForgetApplied(deleted);
  EXPECT_EQ(deletes.size(), 0u);
  EXPECT_EQ(deletes.last(), 0u);
}

TEST(LatestDeletesTest, WhatWasFoundOutBeforeAReloadCountsNoMore) {
  LatestDeletes deletes;
  const auto deleted = At(5);
  deletes.Add({deleted});
  const uint64_t generation = deletes.generation();
  deletes.Replace({deleted});
  deletes.SetApplied(deleted, generation, 5);
  EXPECT_EQ(deletes.Of(kTable)->size(), 1u);
  deletes.SetApplied(deleted, deletes.generation(), 5);
  EXPECT_TRUE(deletes.Of(kTable)->empty());
}

}  // namespace
}  // namespace tallyd

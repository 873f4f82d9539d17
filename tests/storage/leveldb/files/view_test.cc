#include "storage/leveldb/files/view.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

std::shared_ptr<const DeleteRange> MakeDelete(TableId table, uint64_t sequence) {
  return std::make_shared<const DeleteRange>(table, sequence, DeleteSpec{});
}

std::vector<uint64_t> SequencesOf(const DeleteList& list) {
  std::vector<uint64_t> sequences;
  for (const auto& range : list) sequences.push_back(range->sequence);
  return sequences;
}

using Sequences = std::vector<uint64_t>;

TEST(ViewTest, DeletesOfATableComeNewestFirst) {
  View view;
  view.AddDeletes({MakeDelete(1, 3), MakeDelete(2, 4), MakeDelete(1, 5)});
  view.AddDeletes({MakeDelete(1, 7)});
  EXPECT_EQ(SequencesOf(view.DeletesOf(1)), (Sequences{7, 5, 3}));
  EXPECT_EQ(SequencesOf(view.DeletesOf(2)), (Sequences{4}));
  EXPECT_EQ(SequencesOf(view.DeletesOf(3)), Sequences());
  EXPECT_EQ(SequencesOf(view.AllDeletes()), (Sequences{3, 4, 5, 7}));
  EXPECT_EQ(view.last_delete(), 7u);
}

TEST(ViewTest, ACopyKeepsItsDeletes) {
  View view;
  view.AddDeletes({MakeDelete(1, 3)});
  const View before = view;
  const auto added = MakeDelete(1, 5);
  view.AddDeletes({added});
  view.RemoveDelete(*before.DeletesOf(1).front());
  EXPECT_EQ(SequencesOf(view.DeletesOf(1)), (Sequences{5}));
  EXPECT_EQ(SequencesOf(before.DeletesOf(1)), (Sequences{3}));
  view.RemoveDelete(*added);
  EXPECT_EQ(view.last_delete(), 0u);
  EXPECT_TRUE(view.deletes.empty());
}

TEST(DisposerTest, WhatIsWatchedGoesWhenItIsDisposedOf) {
  Disposer disposer;
  auto object = std::make_shared<int>(5);
  const std::weak_ptr<int> alive = object;
  auto watched = disposer.Watch(std::move(object));
  disposer.Dispose();
  EXPECT_EQ(*watched, 5);
  watched.reset();
  EXPECT_FALSE(alive.expired());
  disposer.Dispose();
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace tallyd

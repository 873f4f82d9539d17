#include "storage/blocks/known_lists.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(KnownListsTest, AListIsKnownByItsIdentityHoweverManyThereAre) {
  const std::vector<uint64_t> identities(5000);
  KnownLists lists;
  for (uint32_t i = 0; i < identities.size(); ++i) {
    KnownLists::List* const list = lists.Find(2, &identities[i]);
    ASSERT_EQ(list->columns, std::vector<uint32_t>(2, KnownLists::kUnknown));
    ASSERT_EQ(list->number, KnownLists::kUnknown);
    list->columns = {i, i + 1};
    list->number = i;
  }
  for (uint32_t i = 0; i < identities.size(); ++i) {
    const uint32_t turned = (i * 1237) % 5000;
    const KnownLists::List* const list = lists.Find(2, &identities[turned]);
    ASSERT_EQ(list->columns, (std::vector<uint32_t>{turned, turned + 1}));
    ASSERT_EQ(list->number, turned);
  }
}

TEST(KnownListsTest, AfterClearEachIsUnknown) {
  const std::vector<uint64_t> identities(2000);
  KnownLists lists;
  for (const uint64_t& identity : identities) lists.Find(1, &identity)->number = 7;
  lists.Clear();
  for (auto identity = identities.rbegin(); identity != identities.rend(); ++identity) {
    const KnownLists::List* const list = lists.Find(3, &*identity);
    ASSERT_EQ(list->columns, std::vector<uint32_t>(3, KnownLists::kUnknown));
    ASSERT_EQ(list->number, KnownLists::kUnknown);
  }
}

TEST(KnownListsTest, WithoutAnIdentityEachIsUnknown) {
  KnownLists lists;
  lists.Find(1, nullptr)->number = 7;
  EXPECT_EQ(lists.Find(2, nullptr)->number, KnownLists::kUnknown);
  EXPECT_EQ(lists.Find(2, nullptr)->columns, std::vector<uint32_t>(2, KnownLists::kUnknown));
}

}  // namespace
}  // namespace tallyd

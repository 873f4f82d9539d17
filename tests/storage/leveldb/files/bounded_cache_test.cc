#include "storage/leveldb/files/bounded_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

using Cache = BoundedCache<std::string>;

Cache::Ptr Text(const std::string& text) { return std::make_shared<const std::string>(text); }

TEST(BoundedCacheTest, WhatWasUsedLastStaysWithinTheBound) {
  Cache cache(10);
  for (const uint64_t number : {1, 2, 3}) cache.Put(number, Text("x"), 3);
  EXPECT_NE(cache.Find(1), nullptr);
  cache.Put(4, Text("x"), 3);
  EXPECT_EQ(cache.Find(2), nullptr) << "of all it was used the longest time ago";
  for (const uint64_t number : {1, 3, 4}) EXPECT_NE(cache.Find(number), nullptr) << number;
  cache.Put(5, Text("x"), 10);
  for (const uint64_t number : {1, 3, 4}) EXPECT_EQ(cache.Find(number), nullptr) << number;
  EXPECT_NE(cache.Find(5), nullptr) << "one may fill it";
}

TEST(BoundedCacheTest, WhatIsLargerThanTheBoundIsNotKeptAndDisplacesNothing) {
  Cache cache(10);
  cache.Put(1, Text("x"), 3);
  cache.Put(2, Text("x"), 11);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_NE(cache.Find(1), nullptr);
}

TEST(BoundedCacheTest, AThingThatIsPutTwiceCountsOnce) {
  Cache cache(10);
  for (int i = 0; i < 5; ++i) cache.Put(1, Text(std::to_string(i)), 6);
  EXPECT_EQ(*cache.Find(1), "4");
  cache.Put(2, Text("x"), 4);
  EXPECT_NE(cache.Find(1), nullptr);
  cache.Erase(1);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_NE(cache.Find(2), nullptr);
}

TEST(BoundedCacheTest, WhoHoldsAThingKeepsIt) {
  Cache cache(10);
  cache.Put(1, Text("held"), 10);
  const Cache::Ptr held = cache.Find(1);
  cache.Put(2, Text("x"), 10);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_EQ(*held, "held");
}

}  // namespace
}  // namespace tallyd

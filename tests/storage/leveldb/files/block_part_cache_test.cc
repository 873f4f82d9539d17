#include "storage/leveldb/files/block_part_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tallyd {
namespace {

BytesPtr Bytes(size_t size, char byte = 'x') {
  return std::make_shared<const std::string>(size, byte);
}

TEST(BlockPartCacheTest, PartsStayWithinTheBoundOfAllShares) {
  constexpr size_t kBound = 1u << 20;
  constexpr size_t kPart = 1000;
  constexpr uint64_t kParts = 5000;
  BlockPartCache cache(kBound);
  for (uint64_t i = 0; i < kParts; ++i) cache.Put({i % 7, i * 4096}, Bytes(kPart));
  size_t kept = 0;
  for (uint64_t i = 0; i < kParts; ++i) kept += cache.Find({i % 7, i * 4096}) ? kPart : 0;
  EXPECT_LE(kept, kBound);
  EXPECT_GE(kept, kBound / 2) << "no share is left empty";
}

TEST(BlockPartCacheTest, PlacesOfOneFileAndFilesOfOnePlaceAreApart) {
  BlockPartCache cache(1u << 20);
  for (uint64_t file = 0; file < 5; ++file) {
    for (uint64_t offset = 0; offset < 5; ++offset) {
      cache.Put({file, offset}, Bytes(file * 5 + offset + 1));
    }
  }
  cache.Erase({2, 3});
  for (uint64_t file = 0; file < 5; ++file) {
    for (uint64_t offset = 0; offset < 5; ++offset) {
      const BytesPtr found = cache.Find({file, offset});
      ASSERT_EQ(found == nullptr, file == 2 && offset == 3);
      if (found) {
        EXPECT_EQ(found->size(), file * 5 + offset + 1);
      }
    }
  }
}

TEST(BlockPartCacheTest, WhatIsLargerThanAShareIsNotKept) {
  BlockPartCache cache(16'000);
  cache.Put({1, 0}, Bytes(900));
  EXPECT_EQ(cache.Find({1, 0}), nullptr) << "with what it takes beside its bytes";
  cache.Put({1, 0}, Bytes(800));
  EXPECT_NE(cache.Find({1, 0}), nullptr);
  BlockPartCache none(0);
  none.Put({1, 0}, Bytes(1));
  EXPECT_EQ(none.Find({1, 0}), nullptr);
}

TEST(BlockPartCacheTest, ThreadsFindWhatThreadsPut) {
  BlockPartCache cache(200'000);
  std::vector<std::thread> threads;
  std::vector<size_t> wrong(4, 0);
  for (size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t offset = i * (thread + 1) % 500;
        const BytesPtr found = cache.Find({1, offset});
        if (found && found->front() != static_cast<char>('a' + offset % 26)) ++wrong[thread];
        if (!found) cache.Put({1, offset}, Bytes(700, static_cast<char>('a' + offset % 26)));
        if (i % 97 == 0) cache.Erase({1, offset});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<size_t>(4, 0));
}

}  // namespace
}  // namespace tallyd

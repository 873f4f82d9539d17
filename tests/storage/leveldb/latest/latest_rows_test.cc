#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mimalloc.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "storage/leveldb/latest/latest_tables.h"

namespace tallyd {
namespace {

using Model = std::map<std::string, std::string>;
using Read = std::vector<std::pair<std::string, std::string>>;

void Put(LatestRows* rows, const std::string& key, const std::string& value) {
  rows->Put(StoredRow::Make(key, value));
}

Read ReadForwards(const LatestRows& rows, const KeyRange& range) {
  Read read;
  for (auto at = rows.BeginOf(range), end = rows.EndOf(range); at < end; at = rows.Next(at)) {
    read.emplace_back(rows.At(at).key(), rows.At(at).value());
  }
  return read;
}

Read ReadBackwards(const LatestRows& rows, const KeyRange& range) {
  Read read;
  const auto begin = rows.BeginOf(range);
  for (auto at = rows.EndOf(range); begin < at;) {
    at = rows.Previous(at);
    read.emplace_back(rows.At(at).key(), rows.At(at).value());
  }
  return read;
}

Read Expect(const Model& model, const KeyRange& range) {
  Read read;
  for (auto row = model.lower_bound(range.start);
       row != model.end() && (range.end.empty() || row->first < range.end); ++row) {
    read.emplace_back(*row);
  }
  return read;
}

class LatestRowsTest : public ::testing::TestWithParam<unsigned> {
 protected:
  std::string RandomKey(uint64_t keys) {
    std::string key = std::to_string(random_() % keys);
    if (random_() % 4 == 0) key += '\0';
    return key;
  }

  void ExpectLikeTheModel(const KeyRange& range) {
    const Read expected = Expect(model_, range);
    ASSERT_EQ(ReadForwards(rows_, range), expected);
    ASSERT_EQ(ReadBackwards(rows_, range), Read(expected.rbegin(), expected.rend()));
    if (range.end.empty() || range.start < range.end) {
      ASSERT_EQ(rows_.Distance(rows_.BeginOf(range), rows_.EndOf(range)), expected.size());
    }
  }

  std::mt19937_64 random_{GetParam()};
  LatestRows rows_;
  Model model_;
};

// Phases of growing and shrinking: chunks are split, joined and emptied.
TEST_P(LatestRowsTest, ReadsLikeAMap) {
  constexpr uint64_t kKeys = 3000;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = RandomKey(kKeys);
    const bool grows = step / 2500 % 2 == 0;
    if (random_() % 10 < (grows ? 8 : 2)) {
      const StoredRowPtr before = rows_.Put(StoredRow::Make(key, std::to_string(step)));
      ASSERT_EQ(before != nullptr, model_.contains(key));
      model_[key] = std::to_string(step);
    } else {
      const StoredRowPtr erased = rows_.Erase(key);
      ASSERT_EQ(erased != nullptr, model_.contains(key));
      ASSERT_EQ(erased ? erased->value() : "", model_[key]);
      model_.erase(key);
    }
    ASSERT_EQ(rows_.size(), model_.size());
    const std::string sought = RandomKey(kKeys);
    const StoredRow* const found = rows_.Find(sought);
    ASSERT_EQ(found != nullptr, model_.contains(sought));
    const std::string_view value = found != nullptr ? found->value() : std::string_view();
    ASSERT_EQ(value, found != nullptr ? std::string_view(model_[sought]) : std::string_view());
    if (step % 100 == 0) ExpectLikeTheModel({RandomKey(kKeys), RandomKey(kKeys)});
    if (step % 500 == 0) ExpectLikeTheModel({});
  }
}

TEST_P(LatestRowsTest, ErasedInOrderNothingIsLeft) {
  for (int i = 0; i < 2000; ++i) Put(&rows_, RandomKey(5000), "v");
  const Read all = ReadForwards(rows_, {});
  ASSERT_EQ(all.size(), rows_.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t at = GetParam() % 2 == 0 ? i : all.size() - 1 - i;
    ASSERT_NE(rows_.Erase(all[at].first), nullptr);
  }
  EXPECT_EQ(rows_.size(), 0u);
  EXPECT_EQ(rows_.begin(), rows_.end());
  Put(&rows_, "again", "v");
  EXPECT_EQ(ReadForwards(rows_, {}), (Read{{"again", "v"}}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, LatestRowsTest, ::testing::Range(1u, 5u));

TEST(LatestRowsTest, ARowIsFoundWhileItGrowsAndShrinks) {
  LatestRows rows;
  for (const size_t size : {3u, 300u, 30u}) {
    for (int i = 1000; i < 2000; ++i) Put(&rows, std::to_string(i), std::string(size, 'v'));
    ASSERT_EQ(rows.size(), 1000u);
    for (int i = 1000; i < 2000; ++i) {
      ASSERT_EQ(rows.Find(std::to_string(i))->value(), std::string(size, 'v'));
    }
  }
  EXPECT_EQ(rows.Find("2000"), nullptr);
}

// Values change in their size all the time: what a row has left over is bounded.
TEST(LatestRowsTest, AValueIsWrittenOverWhereItFits) {
  const StoredRowPtr row = StoredRow::Make("key", std::string(40, 'v'));
  EXPECT_TRUE(row->Fits(40));
  EXPECT_FALSE(row->Fits(57));
  EXPECT_FALSE(row->Fits(10));
  ASSERT_TRUE(row->Fits(30));
  row->Set(std::string(30, 'w'));
  EXPECT_EQ(row->key(), "key");
  EXPECT_EQ(row->value(), std::string(30, 'w'));
  ASSERT_TRUE(row->Fits(40));
  row->Set(std::string(40, 'x'));
  EXPECT_EQ(row->value(), std::string(40, 'x'));
}

TEST(LatestRowsTest, AnEmptyKeyAndAnEmptyValueAreARow) {
  LatestRows rows;
  Put(&rows, "", "");
  Put(&rows, "a", "");
  EXPECT_EQ(ReadBackwards(rows, {}), (Read{{"a", ""}, {"", ""}}));
}

// What this thread has of the heap.
size_t HeapBytes() {
  size_t bytes = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto add = [](const mi_heap_t*, const mi_heap_area_t* area, void*, size_t, void* sum) {
    *static_cast<size_t*>(sum) += area->used * area->block_size;
    return true;
  };
  mi_heap_visit_blocks(mi_heap_get_default(), /*visit_all_blocks=*/false, add, &bytes);
#endif
  return bytes;
}

// What the heap gives for a row beyond its key and its value.
double BytesBeside(const std::vector<int>& order) {
  constexpr size_t kPayload = 40;
  const size_t before = HeapBytes();
  LatestRows rows;
  for (const int number : order) {
    const std::string key = fmt::format("machine{:08}", number);
    rows.Put(StoredRow::Make(key, std::string(kPayload - key.size(), 'v')));
  }
  const size_t after = HeapBytes();
  return static_cast<double>(after - before) / static_cast<double>(order.size()) - kPayload;
}

TEST(LatestRowsTest, ARowTakesFewBytesBesideItsOwn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the heap is another";
#endif
  std::vector<int> order(100'000);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  EXPECT_GE(BytesBeside(order), 1);
  EXPECT_LE(BytesBeside(order), 56);
  std::mt19937 random(1);
  std::shuffle(order.begin(), order.end(), random);
  EXPECT_LE(BytesBeside(order), 72);
}

}  // namespace
}  // namespace tallyd

#include "storage/leveldb/seal/merge_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tallyd {
namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kLarge = 200 * kMiB;

// One window's files; what was written first, and what was written again.
class Window {
 public:
  explicit Window(bool patient = false) : patient_(patient) {}

  void Add(uint64_t bytes) {
    sizes_.push_back(bytes);
    sealed_ += bytes;
    while (true) {
      const auto chosen = ChooseMerge(sizes_, patient_);
      if (chosen.size() < 2) break;
      Merge(chosen);
    }
  }
  void Merge(const std::vector<size_t>& chosen) {
    uint64_t merged = 0;
    for (const size_t place : chosen) merged += std::exchange(sizes_[place], 0);
    std::erase(sizes_, 0u);
    sizes_.push_back(merged);
    rewritten_ += merged;
  }
  size_t files() const { return sizes_.size(); }
  size_t mergeable() const {
    return static_cast<size_t>(std::count_if(sizes_.begin(), sizes_.end(),
                                             [](uint64_t size) { return size < kTopFileBytes; }));
  }
  double amplification() const {
    return static_cast<double>(sealed_ + rewritten_) / static_cast<double>(sealed_);
  }
  const std::vector<uint64_t>& sizes() const { return sizes_; }
  uint64_t sealed() const { return sealed_; }
  uint64_t rewritten() const { return rewritten_; }

 private:
  bool patient_;
  std::vector<uint64_t> sizes_;
  uint64_t sealed_ = 0;
  uint64_t rewritten_ = 0;
};

TEST(MergePolicyTest, FewFilesAreLeftAlone) {
  EXPECT_TRUE(ChooseMerge(std::vector<uint64_t>(7, kMiB), false).empty());
  EXPECT_EQ(ChooseMerge(std::vector<uint64_t>(8, kMiB), false).size(), 8u);
}

TEST(MergePolicyTest, APatientMergeWaitsForAllThatOneTakes) {
  EXPECT_TRUE(ChooseMerge(std::vector<uint64_t>(kMaxMergeFiles - 1, kMiB), true).empty());
  EXPECT_EQ(ChooseMerge(std::vector<uint64_t>(kMaxMergeFiles, kMiB), true).size(), kMaxMergeFiles);
}

TEST(MergePolicyTest, PatienceIsForSmallFilesAndHoldsNoOthersUp) {
  EXPECT_EQ(ChooseMerge(std::vector<uint64_t>(8, kSoonManyBytes), true).size(), 8u);
  std::vector<uint64_t> sizes(8, kMiB);
  sizes.insert(sizes.end(), 8, 40 * kMiB);
  const std::vector<size_t> chosen = ChooseMerge(sizes, true);
  ASSERT_EQ(chosen.size(), 8u);
  EXPECT_EQ(sizes[chosen.front()], 40 * kMiB);
}

TEST(MergePolicyTest, ALongBurstOfSmallFilesIsWrittenLessAndOneOfLargeFilesAsEver) {
  for (const uint64_t head : {kMiB, 3 * kMiB, 13 * kMiB}) {
    Window quiet;
    Window burst(true);
    for (int i = 0; i < 2000; ++i) {
      const uint64_t bytes = head + static_cast<uint64_t>(i % 7) * head / 20;
      quiet.Add(bytes);
      burst.Add(bytes);
    }
    EXPECT_LE(burst.mergeable(), kMaxMergeFiles + kMergeFan) << head;
    if (head < kSoonManyBytes) {
      EXPECT_LT(burst.amplification(), quiet.amplification() - 0.1) << head;
    } else {
      EXPECT_EQ(burst.sizes(), quiet.sizes());
    }
  }
}

TEST(MergePolicyTest, AShortBurstIsWrittenTwice) {
  Window burst(true);
  for (size_t i = 1; i < kMaxMergeFiles; ++i) burst.Add(3 * kMiB);
  EXPECT_EQ(burst.rewritten(), 0u);
  burst.Add(3 * kMiB);
  EXPECT_EQ(burst.files(), 1u);
  EXPECT_EQ(burst.rewritten(), burst.sealed());
}

TEST(MergePolicyTest, SizesThatAreNeverAlikeDoNotPileUpInABurst) {
  Window window(true);
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) window.Add(uint64_t{1} << (10 + random() % 18));
  EXPECT_LT(window.mergeable(), 2 * kMaxMergeFiles);
}

TEST(MergePolicyTest, FilesOfTheTopSizeAreLeftAlone) {
  EXPECT_TRUE(ChooseMerge(std::vector<uint64_t>(100, kTopFileBytes), false).empty());
  EXPECT_TRUE(ChooseWholeMerge(std::vector<uint64_t>(100, kTopFileBytes)).empty());
}

TEST(MergePolicyTest, NoMergeTakesMoreThanItsLimit) {
  const std::vector<uint64_t> sizes(100, kLarge);
  for (const auto& chosen : {ChooseMerge(sizes, false), ChooseWholeMerge(sizes)}) {
    EXPECT_LE(chosen.size() * kLarge, kMaxMergeBytes);
  }
}

TEST(MergePolicyTest, NoMergeHasMoreFilesOpenThanItsLimit) {
  const std::vector<uint64_t> sizes(100, kMiB);
  EXPECT_EQ(ChooseMerge(sizes, false).size(), kMaxMergeFiles);
  EXPECT_EQ(ChooseWholeMerge(sizes).size(), kMaxMergeFiles);
}

TEST(MergePolicyTest, ManyFilesBecomeOneInTwoRounds) {
  std::vector<uint64_t> sizes(1000, kMiB);
  uint64_t rewritten = 0;
  for (auto chosen = ChooseWholeMerge(sizes); chosen.size() > 1; chosen = ChooseWholeMerge(sizes)) {
    uint64_t merged = 0;
    for (const size_t place : chosen) merged += std::exchange(sizes[place], 0);
    std::erase(sizes, 0u);
    sizes.push_back(merged);
    rewritten += merged;
  }
  EXPECT_LE(std::ranges::count_if(sizes, [](uint64_t size) { return size < kTopFileBytes; }), 1);
  EXPECT_LE(rewritten, 3000 * kMiB);
}

TEST(MergePolicyTest, SizesThatAreNeverAlikeDoNotPileUp) {
  Window window;
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) window.Add(uint64_t{1} << (10 + random() % 18));
  EXPECT_LT(window.mergeable(), 30u);
  EXPECT_LT(window.files() - window.mergeable(), window.sealed() / kTopFileBytes + 1);
}

// 20,000 rows of 100 cells a second, a byte each: a head is sealed to 13 MB every 6.4 seconds. A
// day is a window; what is late by a day comes to the window before, a hundredth as much.
TEST(MergePolicyTest, ThirtyDaysOfTheHeadlineAreWrittenFourTimesAtMost) {
  constexpr int kHeadsADay = 86'400 * 10 / 64;
  std::mt19937_64 random(1);
  uint64_t sealed = 0;
  uint64_t rewritten = 0;
  std::vector<Window> days(30);
  for (size_t day = 0; day < days.size(); ++day) {
    for (int head = 0; head < kHeadsADay; ++head) {
      days[day].Add(13 * kMiB + random() % (2 * kMiB));
      if (day > 0) days[day - 1].Add(130'000 + random() % 20'000);
    }
    EXPECT_LT(days[day].files(), 260u) << "day " << day;
    EXPECT_LT(days[day].amplification(), 4.0) << "day " << day;
  }
  for (const Window& day : days) {
    sealed += day.sealed();
    rewritten += day.rewritten();
  }
  EXPECT_LE(static_cast<double>(sealed + rewritten) / static_cast<double>(sealed), 4.0);
}

TEST(MergePolicyTest, SmallHeadsOfAnIdleDayAreWrittenFourTimesAtMost) {
  Window window;
  std::mt19937_64 random(2);
  for (int head = 0; head < 288; ++head) window.Add(100'000 + random() % 100'000);
  EXPECT_LT(window.files(), 30u);
  EXPECT_LE(window.amplification(), 4.0);
}

}  // namespace
}  // namespace tallyd

#include "storage/leveldb/read/source_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace tallyd {
namespace {

using Place = std::tuple<std::string, TimeUs, uint64_t>;

bool Before(const Place& a, const Place& b) {
  if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
  if (std::get<1>(a) != std::get<1>(b)) return std::get<1>(a) > std::get<1>(b);
  return std::get<2>(a) > std::get<2>(b);
}

class PlaceSource final : public EntrySource {
 public:
  explicit PlaceSource(std::vector<Place> places) : places_(std::move(places)) {
    std::sort(places_.begin(), places_.end(), Before);
    Load();
  }
  Status SeekRow(std::string_view) override { return {}; }
  Status SeekRowBefore(std::string_view) override { return {}; }
  Status Next() override {
    ++at_;
    Load();
    return {};
  }
  Status SkipNewer(TimeUs) override { return {}; }
  Status AddTo(RowAssembler*) override { return {}; }
  Status Read(WholeEntry*) override { return {}; }

 private:
  void Load() {
    valid_ = at_ < places_.size();
    if (valid_) std::tie(row_key_, time_, sequence_) = places_[at_];
  }
  std::vector<Place> places_;
  size_t at_ = 0;
};

class SourceMergeTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(SourceMergeTest, EntriesComeInTheOrderOfTheStore) {
  std::mt19937_64 random(GetParam());
  std::vector<std::unique_ptr<PlaceSource>> sources;
  std::vector<EntrySource*> all;
  std::vector<Place> expected;
  uint64_t sequence = 0;
  for (uint64_t n = random() % 9; n > 0; --n) {
    std::vector<Place> places;
    for (uint64_t i = random() % 30; i > 0; --i) {
      places.emplace_back(std::string(1, static_cast<char>('a' + random() % 6)),
                          static_cast<TimeUs>(random() % 4), ++sequence);
    }
    expected.insert(expected.end(), places.begin(), places.end());
    sources.push_back(std::make_unique<PlaceSource>(places));
    all.push_back(sources.back().get());
  }
  std::sort(expected.begin(), expected.end(), Before);
  SourceMerge merge;
  merge.Assign(all);
  for (const Place& place : expected) {
    ASSERT_NE(merge.top(), nullptr);
    ASSERT_EQ(Place(merge.top()->row_key(), merge.top()->time(), merge.top()->sequence()), place);
    const EntrySource* top = merge.top();
    std::optional<std::string_view> others;
    for (const EntrySource* source : all) {
      if (source == top || !source->valid()) continue;
      if (!others || source->row_key() < *others) others = source->row_key();
    }
    ASSERT_EQ(merge.NextRowOfOthers(), others);
    ASSERT_TRUE(merge.Next());
  }
  EXPECT_EQ(merge.top(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SourceMergeTest, ::testing::Range(1u, 41u));

}  // namespace
}  // namespace tallyd

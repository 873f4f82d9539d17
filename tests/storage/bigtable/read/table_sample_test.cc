#include "storage/bigtable/read/table_sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tallyd {
namespace {

constexpr TimeUs kBegin = 1'000'000;
constexpr TimeUs kStep = 1'000;
constexpr uint64_t kRowBytes = 100;

std::string KeyAt(int i) { return fmt::format("m{}#{:06}", i % 10, i); }

// Rows of ten machines in turn, one each kStep.
void See(TableSample* sample, int first, int count, bool is_new = false) {
  for (int i = first; i < first + count; ++i) {
    const std::string key = KeyAt(i);
    if (!sample->Wants(key)) continue;
    const TimeUs time = kBegin + i * kStep;
    sample->Take(key, {time, time, 1, kRowBytes - key.size()}, is_new);
  }
}

uint64_t RowsIn(TableSample* sample, const KeyRange& range, const TimeRange& cells = {}) {
  return sample->Estimate({&range, 1}, cells, 0).rows;
}

TimeRange Times(int first, int end) { return {kBegin + first * kStep, kBegin + end * kStep}; }

TEST(TableSample, OfFewRowsEachIsKnown) {
  TableSample sample;
  See(&sample, 0, 500);
  EXPECT_EQ(RowsIn(&sample, {}), 500u);
  EXPECT_EQ(RowsIn(&sample, PrefixRange("m3#")), 50u);
  EXPECT_EQ(RowsIn(&sample, {}, Times(100, 200)), 100u);
  EXPECT_EQ(RowsIn(&sample, PrefixRange("x")), 0u);
}

TEST(TableSample, RowsThatAreSeenAgainCountOnce) {
  TableSample sample;
  for (int i = 0; i < 10; ++i) See(&sample, 0, 300);
  EXPECT_EQ(RowsIn(&sample, {}), 300u);
  EXPECT_EQ(sample.Estimate({}, {}, 0).entries, 0u) << "no range, no row";
}

TEST(TableSample, OfManyRowsShareAndTimeAreTold) {
  TableSample sample;
  See(&sample, 0, 200'000);
  EXPECT_NEAR(static_cast<double>(RowsIn(&sample, {})), 200'000, 20'000);
  EXPECT_NEAR(static_cast<double>(RowsIn(&sample, PrefixRange("m3#"))), 20'000, 8'000);
  EXPECT_NEAR(static_cast<double>(RowsIn(&sample, {}, Times(50'000, 100'000))), 50'000, 12'000);
  // Narrower than from one row of the sample to the next.
  EXPECT_NEAR(static_cast<double>(RowsIn(&sample, {}, Times(50'000, 50'100))), 100, 99);
}

TEST(TableSample, WhatNobodySawIsToldByTheServicesBytes) {
  TableSample sample;
  sample.SetPlaces({{"m3", 30'000'000}, {"m6", 60'000'000}, {"", 100'000'000}});
  EXPECT_EQ(RowsIn(&sample, {}), 500'000u) << "200 bytes each";
  EXPECT_EQ(RowsIn(&sample, {"m3", "m6"}), 150'000u);
  See(&sample, 0, 500);
  EXPECT_EQ(RowsIn(&sample, {}), 1'000'000u) << "100 bytes each";
  EXPECT_NEAR(static_cast<double>(RowsIn(&sample, PrefixRange("m3#"))), 100'000, 20'000);
  EXPECT_NEAR(static_cast<double>(RowsIn(&sample, {}, Times(0, 100))), 200'000, 20'000);
}

TEST(TableSample, PlacesThatContradictThemselvesTellNothing) {
  TableSample sample;
  sample.SetPlaces({{"b", 10}, {"a", 20}});
  sample.SetPlaces({{"a", 20}, {"b", 10}});
  sample.SetPlaces({{"", 20}, {"b", 30}});
  EXPECT_FALSE(sample.has_places());
  EXPECT_EQ(RowsIn(&sample, {}), 0u);
}

TEST(TableSample, WhatIsDeletedOrHasExpiredIsNotCounted) {
  TableSample sample;
  See(&sample, 0, 500);
  sample.SetPlaces({{"", 50'000}});
  sample.Forget(PrefixRange("m3#"));
  EXPECT_FALSE(sample.has_places()) << "they are of before";
  EXPECT_EQ(RowsIn(&sample, {}), 450u);
  const KeyRange all;
  EXPECT_EQ(sample.Estimate({&all, 1}, {}, kBegin + 250 * kStep).rows, 225u);
  EXPECT_EQ(RowsIn(&sample, {}), 225u);
}

TEST(TableSample, ARowOfManyTimesHasAsManyEntries) {
  TableSample sample;
  for (int i = 0; i < 60; ++i) {
    const TimeUs time = kBegin + i * kStep;
    sample.Take("hour", {time, time, 1, 10}, true);
  }
  const KeyRange all;
  EXPECT_EQ(sample.Estimate({&all, 1}, {}, 0).entries, 60u);
  EXPECT_EQ(sample.Estimate({&all, 1}, {}, 0).rows, 1u);
  EXPECT_EQ(sample.Estimate({&all, 1}, Times(0, 30), 0).entries, 31u) << "about";
}

TEST(TableSample, ARangeIsCutWhereTheServiceHasMuch) {
  constexpr uint64_t kMiB = 1u << 20;
  TableSample sample;
  EXPECT_EQ(sample.Split({}, 4, 1).size(), 1u);
  sample.SetPlaces({{"a", 10 * kMiB}, {"b", 20 * kMiB}, {"", 30 * kMiB}});
  EXPECT_EQ(sample.Split({}, 4, 1).size(), 1u) << "one stream reads that in no time";
  sample.SetPlaces({{"a", 100 * kMiB}, {"b", 200 * kMiB}, {"c", 300 * kMiB}, {"", 400 * kMiB}});
  const std::vector<KeyRange> halves = sample.Split({}, 2, 1);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(halves[0].end, "b");
  EXPECT_EQ(halves[1].start, "b");
  EXPECT_EQ(halves[1].end, "");
  const std::vector<KeyRange> inside = sample.Split({"aa", "bz"}, 8, 1);
  EXPECT_EQ(inside.front().start, "aa");
  EXPECT_EQ(inside.back().end, "bz");
  EXPECT_LE(inside.size(), 2u);
}

}  // namespace
}  // namespace tallyd

#include "storage/bigtable/wire/write_pace.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using std::chrono::milliseconds;

class WritePaceTest : public ::testing::Test {
 protected:
  // So many rows a second, ten times a second.
  void Send(size_t rows_per_second, int for_seconds) {
    for (int i = 0; i < 10 * for_seconds; ++i) {
      now_ += milliseconds(100);
      pace_.Reserve(rows_per_second / 10, now_);
    }
  }

  WritePace pace_;
  WritePace::Time now_{std::chrono::hours(1)};
};

TEST_F(WritePaceTest, WhileNobodyAsksForLessNothingWaits) {
  Send(100'000, 2);
  pace_.Hear(1.3, std::chrono::seconds(1), now_);
  EXPECT_EQ(pace_.Reserve(1'000'000, now_), now_);
  EXPECT_EQ(pace_.Reserve(1'000'000, now_), now_);
}

TEST_F(WritePaceTest, FollowsTheFactorFromWhatWasSentLately) {
  Send(10'000, 3);
  pace_.Hear(0.8, std::chrono::seconds(1), now_);
  EXPECT_NEAR(pace_.rows_per_second(), 8000, 1200);
  const WritePace::Time first = pace_.Reserve(8000, now_);
  const WritePace::Time second = pace_.Reserve(1, now_);
  EXPECT_EQ(first, now_);
  EXPECT_NEAR(std::chrono::duration<double>(second - now_).count(), 1, 0.2);
}

TEST_F(WritePaceTest, OneFactorCountsInItsPeriodAndNoneIsExtreme) {
  Send(100'000, 3);
  pace_.Hear(0, std::chrono::seconds(10), now_);
  const double first = pace_.rows_per_second();
  EXPECT_GE(first, 0.6 * 100'000);
  pace_.Hear(0.7, std::chrono::seconds(10), now_ + std::chrono::seconds(9));
  EXPECT_EQ(pace_.rows_per_second(), first);
  pace_.Hear(0.7, std::chrono::seconds(10), now_ + std::chrono::seconds(10));
  EXPECT_NEAR(pace_.rows_per_second(), 0.7 * first, 1);
}

TEST_F(WritePaceTest, IsNeverSlowerThanAThousandRowsASecond) {
  Send(100, 2);
  pace_.Hear(0.7, std::chrono::seconds(1), now_);
  EXPECT_EQ(pace_.rows_per_second(), WritePace::kLeastRows);
}

TEST_F(WritePaceTest, WhatNobodyAskedForInAMinuteIsForgotten) {
  Send(10'000, 2);
  pace_.Hear(0.7, std::chrono::seconds(1), now_);
  EXPECT_GT(pace_.rows_per_second(), 0);
  now_ += WritePace::kForgottenAfter;
  EXPECT_EQ(pace_.Reserve(1'000'000, now_), now_);
  EXPECT_EQ(pace_.rows_per_second(), 0);
}

}  // namespace
}  // namespace tallyd

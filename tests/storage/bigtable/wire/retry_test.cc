#include "storage/bigtable/wire/retry.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using std::chrono::milliseconds;

SteadyTime InMs(int64_t ms) { return std::chrono::steady_clock::now() + milliseconds(ms); }

TEST(Retry, TriesAgainWhatPassesAndNothingElse) {
  for (const RpcCode passing : {RpcCode::kUnavailable, RpcCode::kDeadlineExceeded,
                                RpcCode::kAborted, RpcCode::kResourceExhausted}) {
    EXPECT_TRUE(Retry(InMs(10'000)).MayTryAgain({passing, "later"}));
  }
  for (const RpcCode lasting : {RpcCode::kOk, RpcCode::kInvalidArgument, RpcCode::kNotFound,
                                RpcCode::kInternal, RpcCode::kUnknown}) {
    EXPECT_FALSE(Retry(InMs(10'000)).MayTryAgain({lasting, "no"}));
  }
  EXPECT_TRUE(Retry(InMs(10'000)).MayTryAgain({RpcCode::kInternal, "got RST_STREAM with 2"}));
}

TEST(Retry, EndsWithItsDeadline) {
  Retry retry(InMs(60));
  int tries = 0;
  while (retry.MayTryAgain({RpcCode::kUnavailable, ""})) ++tries;
  EXPECT_GE(tries, 1);
  EXPECT_LE(tries, 4);
  EXPECT_LE(std::chrono::steady_clock::now(), retry.deadline());
}

TEST(Retry, EndsWhenNobodyWaitsAnyMore) {
  const std::atomic<bool> cancelled = true;
  EXPECT_FALSE(Retry(InMs(10'000), &cancelled).MayTryAgain({RpcCode::kUnavailable, ""}));
}

TEST(Retry, TellsWhoHasToActInTheServicesWords) {
  const Error gone = ErrorOf({RpcCode::kUnavailable, "no route"}, "table METRIC");
  EXPECT_EQ(gone.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(gone.message(), "table METRIC: Bigtable answers: no route");
  EXPECT_EQ(ErrorOf({RpcCode::kInvalidArgument, "x"}, "t").code(), ErrorCode::kIo);
  EXPECT_EQ(ErrorOf({RpcCode::kFailedPrecondition, "x"}, "t").code(), ErrorCode::kConflict);
}

}  // namespace
}  // namespace tallyd

#include "storage/bigtable/wire/retry.h"

#include <gtest/gtest.h>

#include <thread>

namespace tallyd {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const Ending kWaiting;

SteadyTime InMs(int64_t ms) { return std::chrono::steady_clock::now() + milliseconds(ms); }

TEST(Retry, TriesAgainWhatPassesAndNothingElse) {
  for (const RpcCode passing : {RpcCode::kUnavailable, RpcCode::kDeadlineExceeded,
                                RpcCode::kAborted, RpcCode::kResourceExhausted}) {
    EXPECT_TRUE(Retry(kWaiting, InMs(10'000)).MayTryAgain({passing, "later"}));
  }
  for (const RpcCode lasting : {RpcCode::kOk, RpcCode::kInvalidArgument, RpcCode::kNotFound,
                                RpcCode::kInternal, RpcCode::kUnknown}) {
    EXPECT_FALSE(Retry(kWaiting, InMs(10'000)).MayTryAgain({lasting, "no"}));
  }
  EXPECT_TRUE(
      Retry(kWaiting, InMs(10'000)).MayTryAgain({RpcCode::kInternal, "got RST_STREAM with 2"}));
}

TEST(Retry, EndsWithItsDeadline) {
  Retry retry(kWaiting, InMs(60));
  while (retry.MayTryAgain({RpcCode::kUnavailable, ""})) {
  }
  EXPECT_FALSE(Retry(kWaiting, InMs(1)).MayTryAgain({RpcCode::kUnavailable, ""}))
      << "the first wait is longer";
}

TEST(Retry, WaitsAsLongAsARefusalAsksForWhateverItsCode) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(
      Retry(kWaiting, InMs(10'000)).MayTryAgain({RpcCode::kInternal, "", milliseconds(150)}));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(150));
  EXPECT_FALSE(
      Retry(kWaiting, InMs(100)).MayTryAgain({RpcCode::kUnavailable, "", milliseconds(150)}));
  EXPECT_FALSE(IsPassing({RpcCode::kOk, "", milliseconds(150)}));
}

TEST(Retry, MakesNoTryThatWouldBeGivenUp) {
  RpcStatus given_up{RpcCode::kCancelled, ""};
  EXPECT_TRUE(Retry(kWaiting, InMs(10'000)).MayTryAgain(given_up));
  given_up.given_up = true;
  EXPECT_FALSE(Retry(kWaiting, InMs(10'000)).MayTryAgain(given_up));
  EXPECT_EQ(ErrorOf(given_up, "t").code(), ErrorCode::kUnavailable);
}

TEST(Retry, WaitsNoLongerThanUntilTheEndBegins) {
  Ending ending;
  std::thread end([&ending] { ending.Begin(); });
  const SteadyTime deadline = InMs(7'200'000);
  EXPECT_FALSE(Retry(ending, deadline).MayTryAgain({RpcCode::kUnavailable, "", hours(1)}));
  end.join();
}

TEST(Retry, IsGivenUpWhileItWaits) {
  std::atomic<bool> cancelled = false;
  std::thread cancel([&cancelled] { cancelled = true; });
  Retry retry(kWaiting, InMs(7'200'000), &cancelled);
  EXPECT_FALSE(retry.MayTryAgain({RpcCode::kUnavailable, "", hours(1)}));
  cancel.join();
}

TEST(Retry, EndsWhenNobodyWaitsAnyMore) {
  const std::atomic<bool> cancelled = true;
  EXPECT_FALSE(Retry(kWaiting, InMs(10'000), &cancelled).MayTryAgain({RpcCode::kUnavailable, ""}));
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

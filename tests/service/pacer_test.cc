#include "service/pacer.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using std::chrono::milliseconds;

class PacerTest : public testing::Test {
 protected:
  // How long a job with such a share rests from work of a tenth of a second.
  Pacer::SteadyClock::duration RestOf(double cpu, milliseconds every) {
    const Pacer pacer(cpu, every, {&mutex_, &wake_, &stopping_});
    const auto begun = Pacer::SteadyClock::now();
    auto since = begun - milliseconds(100);
    status_ = pacer.Pace(&since);
    EXPECT_GE(since, begun);
    return Pacer::SteadyClock::now() - begun;
  }

  Status status_;
  bool stopping_ = false;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
};

TEST_F(PacerTest, HalfACoreIsAsMuchRestAsWork) {
  EXPECT_GE(RestOf(0.5, milliseconds(5)), milliseconds(100));
  EXPECT_TRUE(status_);
}

TEST_F(PacerTest, WhoeverIsToStopDoesNotRest) {
  stopping_ = true;
  EXPECT_LT(RestOf(0.01, milliseconds(5)), milliseconds(1000));
  EXPECT_EQ(status_.error().code(), ErrorCode::kCancelled);
}

TEST_F(PacerTest, LittleWorkIsNotRestedFrom) {
  EXPECT_LT(RestOf(0.01, milliseconds(10'000)), milliseconds(1000));
  EXPECT_TRUE(status_);
}

}  // namespace
}  // namespace tallyd

#include "storage/retention_clock.h"

#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr int64_t kSecond = kUsPerSecond;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr TimeUs kStart = 1000 * kUsPerDay;

// What happens to the clocks before the next look.
struct Event {
  int64_t pass = 0;  // Time passes,
  int64_t jump = 0;  // then the wall clock jumps,
  bool restart = false;
  int64_t off = 0;  // with the machine off for so long.
};

struct Case {
  const char* name;
  std::vector<Event> events;
  int64_t time;  // Of the retention clock in the end, since kStart.
  int64_t now;   // By which the disk forgets.
};

class RetentionClockTest : public ::testing::TestWithParam<Case> {
 protected:
  RetentionClockTest() { clock_.now = kStart; }

  // One look a minute, as the keeper does it.
  void Pass(int64_t us) {
    for (; us > 0; us -= kMinute) {
      clock_.Pass(std::min(us, kMinute));
      retention_->Now();
    }
  }

  void Start(std::optional<TimeUs> persisted) {
    retention_ = std::make_unique<RetentionClock>(clock_);
    retention_->Start(persisted);
  }

  ManualClock clock_;
  std::unique_ptr<RetentionClock> retention_;
};

TEST_P(RetentionClockTest, FollowsTheRules) {
  Start(std::nullopt);
  for (const Event& event : GetParam().events) {
    Pass(event.pass);
    clock_.now += event.jump;
    if (event.restart) {
      const TimeUs persisted = retention_->GetState().time;
      clock_.now += event.off;
      clock_.steady = 7;  // The machine started again.
      Start(persisted);
    }
    retention_->Now();
  }
  EXPECT_EQ(retention_->GetState().time - kStart, GetParam().time);
  EXPECT_EQ(retention_->Now() - kStart, GetParam().now);
}

const Case kCases[] = {
    {"FirstStartTakesTheWallClock", {}, 0, 0},
    {"FollowsTheWallClock", {{.pass = kHour}}, kHour, kHour},
    {"StandsStillWhileTheWallClockIsBehind",
     {{.jump = -kHour}, {.pass = 10 * kMinute}},
     0,
     -50 * kMinute},
    {"GoesOnWhenTheWallClockIsThereAgain", {{.jump = -kHour}, {.pass = 2 * kHour}}, kHour, kHour},
    {"AJumpAheadIsNotBelieved", {{.jump = 40 * kUsPerDay}}, 0, 0},
    {"NeitherIsASmallOne",
     {{.jump = 10 * kSecond}, {.pass = 59 * kMinute}},
     59 * kMinute,
     59 * kMinute},
    {"ItGoesOnAtItsOwnRateMeanwhile",
     {{.jump = 40 * kUsPerDay}, {.pass = 59 * kMinute}},
     59 * kMinute,
     59 * kMinute},
    {"AJumpThatHeldForAnHourIsBelieved",
     {{.jump = 40 * kUsPerDay}, {.pass = kHour}},
     40 * kUsPerDay + kHour,
     40 * kUsPerDay + kHour},
    {"AndASmallOne",
     {{.jump = 10 * kSecond}, {.pass = kHour}},
     kHour + 10 * kSecond,
     kHour + 10 * kSecond},
    {"AJumpThatCameBackIsForgotten",
     {{.jump = 40 * kUsPerDay},
      {.pass = 50 * kMinute, .jump = -40 * kUsPerDay},
      {.pass = kMinute, .jump = 40 * kUsPerDay},
      {.pass = 50 * kMinute}},
     101 * kMinute,
     101 * kMinute},
    {"AnotherJumpHoldsAnew",
     {{.jump = 40 * kUsPerDay}, {.pass = 50 * kMinute, .jump = kHour}, {.pass = 50 * kMinute}},
     100 * kMinute,
     100 * kMinute},
    {"AWallClockThatIsSetABitMeanwhileHolds",
     {{.jump = 40 * kUsPerDay},
      {.pass = 50 * kMinute, .jump = 5 * kSecond},
      {.pass = 10 * kMinute}},
     40 * kUsPerDay + kHour + 5 * kSecond,
     40 * kUsPerDay + kHour + 5 * kSecond},
    {"AWallClockThatRunsTwiceAsFastIsNeverBelieved",
     std::vector<Event>(120, Event{.pass = kMinute, .jump = kMinute}), 120 * kMinute,
     120 * kMinute},
    {"ADayOffIsBelievedAtOnce", {{.restart = true, .off = kUsPerDay}}, kUsPerDay, kUsPerDay},
    {"MoreIsNot",
     {{.restart = true, .off = kUsPerDay + 1}, {.pass = 59 * kMinute}},
     59 * kMinute,
     59 * kMinute},
    {"MoreIsBelievedAfterAnHour",
     {{.restart = true, .off = 3 * kUsPerDay}, {.pass = kHour}},
     3 * kUsPerDay + kHour,
     3 * kUsPerDay + kHour},
    {"ARestartDoesNotMakeAJumpBelieved",
     {{.jump = 40 * kUsPerDay, .restart = true}, {.pass = 59 * kMinute, .restart = true}},
     59 * kMinute,
     59 * kMinute},
    {"TheHourBeginsAgainAtARestart",
     {{.jump = 40 * kUsPerDay}, {.pass = 40 * kMinute, .restart = true}, {.pass = 40 * kMinute}},
     80 * kMinute,
     80 * kMinute},
    {"AStartWithAWallClockThatIsBehindKeepsTheTime",
     {{.pass = kHour, .jump = -20 * kUsPerDay, .restart = true}},
     kHour,
     kHour - 20 * kUsPerDay},
    {"ItNeverGoesBackForARestart",
     {{.jump = -2 * kUsPerDay, .restart = true}, {.jump = 2 * kUsPerDay, .restart = true}},
     0,
     0},
};
INSTANTIATE_TEST_SUITE_P(Jumps, RetentionClockTest, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_F(RetentionClockTest, TrustTakesTheWallClockAheadAndBehind) {
  Start(std::nullopt);
  clock_.now += 40 * kUsPerDay;
  retention_->Trust();
  EXPECT_EQ(retention_->Now(), kStart + 40 * kUsPerDay);
  clock_.now -= 40 * kUsPerDay;
  EXPECT_EQ(retention_->GetState().time, kStart + 40 * kUsPerDay);
  EXPECT_EQ(retention_->GetState().lag_us, -40 * kUsPerDay);
  retention_->Trust();
  EXPECT_EQ(retention_->GetState().time, kStart);
}

TEST_F(RetentionClockTest, SaysWhenItWillBelieveAJump) {
  Start(std::nullopt);
  EXPECT_TRUE(retention_->GetState().believes_wall);
  clock_.now += kHour;
  Pass(10 * kMinute);
  const RetentionClock::State state = retention_->GetState();
  EXPECT_FALSE(state.believes_wall);
  EXPECT_EQ(state.lag_us, kHour);
  EXPECT_EQ(state.believes_in_us, kHour - 9 * kMinute) << "the jump was seen after a minute";
}

TEST_F(RetentionClockTest, AnyWallClockCanBeStored) {
  for (const TimeUs wall : {TimeUs{-1}, kMaxTimeUs + 1, std::numeric_limits<TimeUs>::max()}) {
    clock_.now = wall;
    Start(std::nullopt);
    EXPECT_GE(retention_->GetState().time, 0);
    EXPECT_LE(retention_->GetState().time, kMaxTimeUs);
  }
}

class RetentionKeeperTest : public RetentionClockTest {
 protected:
  std::unique_ptr<RetentionKeeper> Keep(std::optional<TimeUs> persisted) {
    Start(persisted);
    return std::make_unique<RetentionKeeper>(retention_.get(), persisted, [this](TimeUs time) {
      if (answer_) writes_.push_back(time - kStart);
      return answer_;
    });
  }

  Status answer_;
  std::vector<int64_t> writes_;
};

TEST_F(RetentionKeeperTest, PersistsTheFirstTimeAtOnceThenEveryTenMinutes) {
  const auto keeper = Keep(std::nullopt);
  for (int minute = 0; minute < 25; ++minute) {
    clock_.Pass(kMinute);
    keeper->Look();
  }
  EXPECT_EQ(writes_, (std::vector<int64_t>{0, 10 * kMinute, 20 * kMinute}));
  keeper->Stop();
  EXPECT_EQ(writes_.back(), 25 * kMinute) << "when it stops";
}

TEST_F(RetentionKeeperTest, WhatDidNotAdvanceIsNotWritten) {
  const auto keeper = Keep(kStart);
  for (int i = 0; i < 100; ++i) keeper->Look();
  keeper->Stop();
  EXPECT_TRUE(writes_.empty());
}

TEST_F(RetentionKeeperTest, AFailedWriteIsMadeAtTheNextLook) {
  answer_ = Error(ErrorCode::kNoSpace, "full");
  const auto keeper = Keep(std::nullopt);
  keeper->Look();
  answer_ = Status();
  keeper->Look();
  EXPECT_EQ(writes_, (std::vector<int64_t>{0}));
}

TEST_F(RetentionKeeperTest, TrustIsPersistedAtOnce) {
  const auto keeper = Keep(kStart);
  clock_.now += 2 * kUsPerDay;
  EXPECT_TRUE(keeper->Trust());
  EXPECT_EQ(writes_, (std::vector<int64_t>{2 * kUsPerDay}));
  answer_ = Error(ErrorCode::kNoSpace, "full");
  EXPECT_FALSE(keeper->Trust());
}

}  // namespace
}  // namespace tallyd

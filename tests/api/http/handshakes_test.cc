#include "api/http/handshakes.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using namespace std::chrono_literals;

TEST(HandshakePace, AFewAtOnceNeedNotWait) {
  HandshakePace pace;
  const HandshakePace::Clock::time_point now{1h};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pace.Turn(now), now);
  EXPECT_EQ(pace.Turn(now + 1h), now + 1h) << "what was long ago counts no more";
}

TEST(HandshakePace, AFloodTakesHalfOfTheTime) {
  HandshakePace pace;
  for (int i = 0; i < 100; ++i) pace.Note(1ms);
  const HandshakePace::Clock::time_point now{1h};
  HandshakePace::Clock::time_point last = now;
  for (int i = 0; i < 1000; ++i) last = pace.Turn(now);
  EXPECT_GT(last - now, 1900ms) << "a thousand of a millisecond each";
  EXPECT_LT(last - now, 2100ms);
}

}  // namespace
}  // namespace tallyd

#include "service/write/removal_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tallyd {
namespace {

TEST(RemovalGateTest, AJobIsTurnedAwayWhereSomethingWentSinceItsReading) {
  RemovalGate gate;
  const uint64_t read = gate.Removals("s");
  EXPECT_TRUE(gate.Enter("s", read));
  {
    const RemovalGate::Held held = gate.Hold();
    gate.NoteRemoval("s");
  }
  EXPECT_TRUE(gate.HasMore("s", read));
  EXPECT_FALSE(gate.Enter("s", read));
  EXPECT_TRUE(gate.Enter("s", gate.Removals("s")));
}

TEST(RemovalGateTest, RemovalsOfAnotherStreamAreInNobodysWay) {
  RemovalGate gate;
  const uint64_t read = gate.Removals("s");
  gate.NoteRemoval("t");
  EXPECT_FALSE(gate.HasMore("s", read));
  EXPECT_TRUE(gate.Enter("s", read));
}

TEST(RemovalGateTest, AJobWaitsForThoseWhoHoldIt) {
  RemovalGate gate;
  std::atomic<bool> removed = false;
  RemovalGate::Held one = gate.Hold();
  RemovalGate::Held other = gate.Hold();
  bool saw = false;
  std::thread job([&] {
    const RemovalGate::Alone alone = gate.EnterAlone();
    saw = removed.load();
  });
  one.unlock();
  removed = true;
  other.unlock();
  job.join();
  EXPECT_TRUE(saw);
}

TEST(RemovalGateTest, ATableIsFilledForAsLongAsItsJobSays) {
  RemovalGate gate;
  {
    const RemovalGate::Filling filling(&gate, "T");
    EXPECT_TRUE(gate.IsFilling("T"));
    EXPECT_FALSE(gate.IsFilling("U"));
  }
  EXPECT_FALSE(gate.IsFilling("T"));
}

}  // namespace
}  // namespace tallyd

#include "ingest/hold/counter_flusher.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/ingest/world.h"

namespace tallyd {
namespace {

class FixedClock final : public Clock {
 public:
  TimeUs Now() const override {
    if (on_look) on_look();
    return now;
  }
  TimeUs now = World::kArrival;
  std::function<void()> on_look;
};

class CounterFlusherTest : public ::testing::Test {
 protected:
  void Add() { Add(store().FindTable("T")); }
  void Add(const TablePtr& table) {
    auto interval = counters_.Begin(table, 100, clock_.now);
    const ColumnRef column{0, "hits"};
    const Value values[] = {Value::Int(1)};
    HeldIncrements increments;
    increments.Put(interval, "a", interval->TimeOf(clock_.now), {&column, 1}, values);
    counters_.Add(std::move(increments));
  }
  SchemaStore& store() { return *world_.store; }

  World world_{R"(
[tables.T]
pattern = "single-timestamp"
row_key = "{page}#{ts:ms}"
families.F = {}
flush = "1s"
)"};
  FixedClock clock_;
  HeldCounters counters_;
};

TEST_F(CounterFlusherTest, WhatHasEndedIsWrittenAndNoMore) {
  CounterFlusher flusher(&counters_, &store(), &clock_);
  Add();
  EXPECT_TRUE(flusher.Flush(false));
  EXPECT_EQ(store().submitted.size(), 0u);
  clock_.now += 100;
  EXPECT_TRUE(flusher.Flush(false));
  EXPECT_EQ(store().submitted.size(), 1u);
  EXPECT_EQ(counters_.rows(), 0u);
}

TEST_F(CounterFlusherTest, AStopWritesAll) {
  CounterFlusher flusher(&counters_, &store(), &clock_);
  flusher.Start();
  Add();
  flusher.Stop();
  EXPECT_EQ(store().submitted.size(), 1u);
}

TEST_F(CounterFlusherTest, AStopTriesAgainWhatTheStoreDoesNotTakeAtOnce) {
  CounterFlusher flusher(&counters_, &store(), &clock_);
  Add();
  store().refuses = Error(ErrorCode::kOverloaded, "the write queue is full");
  int looks = 0;
  clock_.on_look = [&] {
    if (++looks == 3) store().refuses.reset();
  };
  flusher.Start();
  flusher.Stop();
  EXPECT_EQ(store().submitted.size(), 1u);
  EXPECT_EQ(counters_.rows(), 0u);
}

TEST_F(CounterFlusherTest, WhatTheStoreDoesNotTakeIsTriedAgain) {
  CounterFlusher flusher(&counters_, &store(), &clock_);
  Add();
  store().refuses = Error(ErrorCode::kNoSpace, "the disk is full");
  clock_.now += 100;
  EXPECT_FALSE(flusher.Flush(false));
  EXPECT_EQ(counters_.rows(), 1u);
  store().refuses.reset();
  EXPECT_TRUE(flusher.Flush(false));
  EXPECT_EQ(store().submitted.size(), 1u);
}

TEST_F(CounterFlusherTest, WhatIsOfATableThatIsGoneIsDropped) {
  CounterFlusher flusher(&counters_, &store(), &clock_);
  auto gone = std::make_shared<TableInfo>(*store().FindTable("T"));
  gone->id += 1;
  Add(gone);
  clock_.now += 100;
  EXPECT_TRUE(flusher.Flush(false));
  EXPECT_EQ(counters_.rows(), 0u);
  EXPECT_EQ(store().submitted.size(), 0u);
}

TEST_F(CounterFlusherTest, WhatOthersForestallIsHeldOn) {
  CounterFlusher flusher(&counters_, &store(), &clock_);
  Add();
  store().refuses = Error(ErrorCode::kConflict, "something was deleted meanwhile");
  clock_.now += 100;
  EXPECT_FALSE(flusher.Flush(false));
  EXPECT_EQ(counters_.rows(), 1u);
}

}  // namespace
}  // namespace tallyd

#include "ingest/hold/held_counters.h"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>

namespace tallyd {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Keeps what is put: row key, time, qualifier, value.
class PutsBatch final : public Batch {
 public:
  using Puts = std::vector<std::tuple<std::string, TimeUs, std::string, int64_t>>;

  void Put(const TableInfo&, std::string_view, TimeUs, const ColumnSet&,
           std::span<const Value>) override {
    ADD_FAILURE();
  }
  void Put(const TableInfo&, std::string_view key, TimeUs time, std::span<const ColumnRef> columns,
           std::span<const Value> values) override {
    for (size_t i = 0; i < columns.size(); ++i) {
      puts.emplace_back(key, time, columns[i].qualifier, values[i].AsInt());
    }
  }
  void Delete(const TableInfo&, const DeleteSpec&) override {}
  void AddField(std::string_view, std::string_view, uint8_t) override {}
  void NoteSpelling(std::string_view, std::string_view) override {}
  void AddMissed(const TableInfo&, std::string_view, uint8_t) override {}
  void PutMemo(std::string_view, std::string_view, NoteOrder) override {}
  void DropMemo(std::string_view) override {}
  bool empty() const override { return puts.empty(); }

  Puts puts;
};

class HeldCountersTest : public ::testing::Test {
 protected:
  static constexpr int64_t kFlush = 100;

  HeldIncrements Increment(TimeUs now, const std::string& key, TimeUs event, int64_t value,
                           const std::string& column = "hits") {
    auto interval = counters_.Begin(table_, kFlush, now);
    const ColumnRef ref{0, column};
    const Value values[] = {Value::Int(value)};
    HeldIncrements increments;
    const TimeUs time = interval->TimeOf(event);
    increments.Put(std::move(interval), key, time, {&ref, 1}, values);
    return increments;
  }
  void Add(TimeUs now, const std::string& key, TimeUs event, int64_t value,
           const std::string& column = "hits") {
    counters_.Add(Increment(now, key, event, value, column));
  }

  PutsBatch::Puts Write(TimeUs now, bool all = false) {
    PutsBatch batch;
    for (const auto& interval : counters_.TakeEnded(now, all)) {
      HeldCounters::PutRows(*interval, HeldCounters::TableOf(*interval), &batch);
      counters_.Forget(*interval);
    }
    return batch.puts;
  }

  const TablePtr table_ = std::make_shared<const TableInfo>();
  HeldCounters counters_;
};

TEST_F(HeldCountersTest, WhatACutRequestHoldsIsWrittenAtTheEndAllTheSame) {
  const HeldIncrements cut = Increment(1'000, "a", 1'010, 5);
  Add(1'000, "a", 1'010, 2);
  EXPECT_EQ(Write(1'100), PutsBatch::Puts{}) << "the request may add yet";
  EXPECT_EQ(Write(1'100, true), (PutsBatch::Puts{{"a", 1'000, "hits", 2}}));
}

TEST_F(HeldCountersTest, HundredsOfIncrementsAreOneRow) {
  for (int i = 0; i < 300; ++i) Add(1'000 + i / 10, "a", 1'010, 2);
  Add(1'030, "b", 1'010, 7);
  Add(1'030, "b", 1'010, 1, "misses");
  EXPECT_EQ(counters_.rows(), 2u);
  EXPECT_EQ(Write(1'099), PutsBatch::Puts{}) << "the interval lasts";
  EXPECT_EQ(Write(1'100),
            (PutsBatch::Puts{
                {"a", 1'000, "hits", 600}, {"b", 1'000, "hits", 7}, {"b", 1'000, "misses", 1}}));
  EXPECT_EQ(counters_.rows(), 0u);
  EXPECT_EQ(Write(9'999, true), PutsBatch::Puts{});
}

TEST_F(HeldCountersTest, IncrementsBelongToTheStepOfTheirOwnTime) {
  Add(1'042, "a", 310, 1);
  Add(1'042, "a", 399, 1);
  Add(1'042, "a", 400, 5);
  EXPECT_EQ(Write(2'000), (PutsBatch::Puts{{"a", 342, "hits", 2}, {"a", 442, "hits", 5}}));
}

TEST_F(HeldCountersTest, NoTwoIntervalsWriteOneCell) {
  Add(1'042, "a", 310, 1);
  const PutsBatch::Puts first = Write(2'000);
  Add(2'042, "a", 310, 1);
  const PutsBatch::Puts second = Write(3'000);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(std::get<1>(first[0]), 342);
  EXPECT_EQ(std::get<1>(second[0]), 343);
}

TEST_F(HeldCountersTest, WhatOneCellDoesNotHoldGoesOnInTheNext) {
  Add(1'000, "a", 1'000, kMax);
  Add(1'000, "a", 1'000, 5);
  Add(1'000, "a", 1'000, -2);
  EXPECT_EQ(Write(2'000), (PutsBatch::Puts{{"a", 1'000, "hits", kMax}, {"a", 1'001, "hits", 3}}));
}

TEST_F(HeldCountersTest, AnIntervalIsNotWrittenWhileARequestMayAddToIt) {
  HeldIncrements late = Increment(1'000, "a", 1'000, 1);
  Add(1'000, "a", 1'000, 1);
  EXPECT_EQ(Write(5'000), PutsBatch::Puts{});
  counters_.Add(std::move(late));
  EXPECT_EQ(Write(5'000), (PutsBatch::Puts{{"a", 1'000, "hits", 2}}));
}

TEST_F(HeldCountersTest, WhatIsGivenUpCountsNothing) {
  { const HeldIncrements refused = Increment(1'000, "a", 1'000, 1); }
  Add(1'000, "a", 1'000, 1);
  EXPECT_EQ(Write(5'000), (PutsBatch::Puts{{"a", 1'000, "hits", 1}}));
}

TEST_F(HeldCountersTest, WhatCouldNotBeWrittenIsStillHeld) {
  Add(1'000, "a", 1'000, 1);
  HeldCounters::Ended taken = counters_.TakeEnded(2'000, false);
  ASSERT_EQ(taken.size(), 1u);
  taken.clear();
  EXPECT_EQ(counters_.rows(), 1u);
  EXPECT_EQ(Write(2'000), (PutsBatch::Puts{{"a", 1'000, "hits", 1}}));
}

TEST_F(HeldCountersTest, ARemovalTakesWhatIsHeldByThen) {
  Add(1'000, "a", 1'000, 1);
  Add(1'000, "a", 1'000, 1, "bytes");
  Add(1'000, "b", 1'000, 1);
  const HeldCounters::Ended taken = counters_.TakeEnded(2'000, false);
  Add(2'000, "a", 2'000, 1);
  const auto of_a = [](std::string_view key, TimeUs, const ColumnRef& column) {
    return key == "a" && column.qualifier == "hits";
  };
  EXPECT_EQ(counters_.Remove({table_->id, of_a}), 2u);
  EXPECT_EQ(counters_.Remove({table_->id + 1, of_a}), 0u);
  EXPECT_EQ(counters_.rows(), 2u);
  Add(2'000, "a", 2'000, 5);
  PutsBatch batch;
  HeldCounters::PutRows(*taken[0], *table_, &batch);
  EXPECT_EQ(batch.puts, (PutsBatch::Puts{{"a", 1'000, "bytes", 1}, {"b", 1'000, "hits", 1}}));
}

TEST_F(HeldCountersTest, ATableOfWhichSomethingIsHeldMayNotBeMadeAnew) {
  {
    const HeldIncrements of_a_request = Increment(1'000, "a", 1'000, 1);
    EXPECT_FALSE(counters_.MayDrop(table_->id)) << "it is about to be added";
  }
  Add(1'000, "a", 1'000, 1);
  EXPECT_FALSE(counters_.MayDrop(table_->id));
  const HeldCounters::Ended taken = counters_.TakeEnded(2'000, false);
  EXPECT_FALSE(counters_.MayDrop(table_->id)) << "it is not written yet";
  counters_.Forget(*taken[0]);
  EXPECT_TRUE(counters_.MayDrop(table_->id));
}

TEST_F(HeldCountersTest, WhatComesBehindATableThatIsMadeAnewIsLate) {
  EXPECT_FALSE(Increment(1'000, "a", 1'000, 1).is_late());
  ASSERT_TRUE(counters_.MayDrop(table_->id));
  EXPECT_TRUE(Increment(1'000, "a", 1'000, 1).is_late());
  counters_.Reopen(table_->id);
  EXPECT_FALSE(Increment(1'000, "a", 1'000, 1).is_late()) << "the schema was refused";
}

TEST_F(HeldCountersTest, AClockThatGoesBackEndsAnInterval) {
  Add(10'000, "a", 1'000, 1);
  EXPECT_EQ(Write(9'999).size(), 1u);
}

}  // namespace
}  // namespace tallyd

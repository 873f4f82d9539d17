// What is written is there, whole, in the order of its commits, and stays.
#include <future>
#include <limits>
#include <thread>

#include "storage/batch.h"
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

TEST_P(Conformance, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"B", "y", Value::String("two")}}));
  ASSERT_TRUE(Write("H", "b", 6, {{"A", "x", Value::Double(0.5)}}, false));
  const Rows expected = {{"a", {{"A:x@5", "1"}, {"B:y@5", "two"}}}, {"b", {{"A:x@6", "0.5"}}}};
  EXPECT_EQ(Read("H"), expected);
  Reopen();
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
}

TEST_P(Conformance, ValuesOfEveryTypeComeBackAsTheyWere) {
  const std::string zeroes("\0z\0", 3);
  const std::vector<Value> values = {Value::Int(0),
                                     Value::Int(std::numeric_limits<int64_t>::min()),
                                     Value::Int(std::numeric_limits<int64_t>::max()),
                                     Value::Double(-0.0),
                                     Value::Double(1e300),
                                     Value::Decimal(-15, 1),
                                     Value::Decimal(Value::kMaxMantissa, Value::kMaxScale),
                                     Value::Bool(true),
                                     Value::Bool(false),
                                     Value::String(""),
                                     Value::String("text"),
                                     Value::Bytes(zeroes)};
  for (size_t i = 0; i < values.size(); ++i) {
    for (const char* table : {"H", "L", "R"}) {
      const std::string row = std::to_string(100 + i);
      ASSERT_TRUE(Write(table, row, 5, {{"A", "x", values[i]}}, i % 2 == 0));
    }
  }
  for (const char* table : {"H", "L", "R"}) {
    const auto scan = store().Scan(Find(table), ScanSpec{});
    for (const Value& value : values) {
      ASSERT_TRUE(*scan->Next());
      ASSERT_EQ(scan->row().cells.size(), 1u);
      EXPECT_EQ(scan->row().cells[0].value, value) << table << " " << ToText(value);
    }
    EXPECT_FALSE(*scan->Next());
  }
}

TEST_P(Conformance, TheLaterWriteToACellWins) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value::Int(1)}}));
  Settle();
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(2)}, {"B", "z", Value::Int(2)}}));
  const Rows expected = {{"a", {{"A:x@5", "2"}, {"A:y@5", "1"}, {"B:z@5", "2"}}}};
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
}

TEST_P(Conformance, TheLaterEventOfABatchWins) {
  auto batch = NewBatch();
  for (const char* table : {"H", "L", "R"}) {
    Put(batch.get(), table, "a", 5, {{"A", "x", Value::Int(1)}});
    Put(batch.get(), table, "a", 5, {{"A", "x", Value::Int(2)}});
  }
  ASSERT_TRUE(Commit(std::move(batch)));
  for (const char* table : {"H", "L", "R"}) {
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@5", "2"}}}})) << table;
  }
}

TEST_P(Conformance, ANullIsNoCell) {
  for (const bool by_set : {true, false}) {
    for (const char* table : {"H", "L"}) {
      ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value()}}, by_set));
      ASSERT_TRUE(Write(table, "a", 6, {{"A", "x", Value()}, {"A", "y", Value::Int(2)}}, by_set));
    }
  }
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "1"}, {"A:y@6", "2"}}}}));
  EXPECT_EQ(Read("L"), (Rows{{"a", {{"A:x@5", "1"}, {"A:y@6", "2"}}}}));
}

TEST_P(Conformance, TimesReachFromTheEpochToTheLastMicrosecond) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "a", 0, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(Write(table, "a", kMaxTimeUs, {{"A", "y", Value::Int(2)}}));
    const std::string last = std::to_string(kMaxTimeUs);
    const Rows expected = {{"a", {{"A:x@0", "1"}, {"A:y@" + last, "2"}}}};
    EXPECT_EQ(Read(table), expected) << table;
    Settle();
    EXPECT_EQ(Read(table), expected) << table;
  }
}

TEST_P(Conformance, LatestKeepsTheNewestCellOfEachColumn) {
  ASSERT_TRUE(Write("L", "m", 10, {{"A", "x", Value::Int(10)}, {"A", "y", Value::Int(10)}}));
  ASSERT_TRUE(Write("L", "m", 5, {{"A", "x", Value::Int(5)}, {"B", "z", Value::Int(5)}}));
  ASSERT_TRUE(Write("L", "m", 20, {{"A", "y", Value::Int(20)}}));
  const Rows expected = {{"m", {{"A:x@10", "10"}, {"A:y@20", "20"}, {"B:z@5", "5"}}}};
  EXPECT_EQ(Read("L"), expected);
  Reopen();
  EXPECT_EQ(Read("L"), expected);
  Settle();
  Reopen();
  EXPECT_EQ(Read("L"), expected);
}

TEST_P(Conformance, LatestRowKeepsTheNewestEvent) {
  ASSERT_TRUE(Write("R", "m", 10, {{"A", "x", Value::Int(10)}, {"A", "y", Value::Int(10)}}));
  ASSERT_TRUE(Write("R", "m", 5, {{"B", "z", Value::Int(5)}}));
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"A:x@10", "10"}, {"A:y@10", "10"}}}}));
  ASSERT_TRUE(Write("R", "m", 10, {{"B", "z", Value::Int(11)}}));
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"B:z@10", "11"}}}}));
  Reopen();
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"B:z@10", "11"}}}}));
}

TEST_P(Conformance, LargeValuesAndKeysFit) {
  const std::string large(20u << 20, 'v');
  const std::string key(kMaxRowKeyBytes, '\0');
  const std::string qualifier(kMaxQualifierBytes, 'q');
  ASSERT_TRUE(Write("H", key, 1, {{"A", qualifier, Value::Bytes(large)}}, false));
  Settle();
  const Rows rows = Read("H");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].first, key);
  EXPECT_EQ(rows[0].second.begin()->second, large);
}

TEST_P(Conformance, ABatchOfNothingCommits) {
  auto batch = NewBatch();
  EXPECT_TRUE(batch->empty());
  EXPECT_TRUE(Commit(std::move(batch)));
  batch = NewBatch();
  Put(batch.get(), "H", "a", 1, {{"A", "x", Value::Int(1)}});
  EXPECT_FALSE(batch->empty());
}

TEST_P(Conformance, AForeignBatchIsRefused) {
  EXPECT_FALSE(Commit(std::make_unique<PreviewBatch>()));
  WriteRows("H", {"a"});
}

TEST_P(Conformance, WhatWasSubmittedBeforeCloseIsAnswered) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(1)}});
  std::promise<Status> done;
  store().Submit(std::move(batch), [&](Status status) { done.set_value(std::move(status)); });
  store().Close();
  EXPECT_TRUE(done.get_future().get());
  Reopen();
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "1"}}}}));
}

TEST_P(Conformance, AfterCloseNothingIsTaken) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 1, {{"A", "x", Value::Int(1)}});
  store().Close();
  store().Close();
  const Status committed = Commit(std::move(batch));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), ErrorCode::kUnavailable);
}

TEST_P(Conformance, ManyThreadsMayWrite) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 50; ++i) {
        const std::string row = std::to_string(writer) + "#" + std::to_string(i);
        const std::string column = "c" + std::to_string(i % 7);
        ASSERT_TRUE(Write("H", row, 1, {{"A", column, Value::Int(i)}}));
        ASSERT_TRUE(Write("L", row, 1, {{"A", column, Value::Int(i)}}));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Read("H").size(), 200u);
  Reopen();
  EXPECT_EQ(Read("H"), Read("L"));
}

}  // namespace
}  // namespace tallyd

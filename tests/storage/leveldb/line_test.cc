// Reading what was written before a line (Store::CommitBehindLine), sealed or not.
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class LineTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("OTHER")})));
  }

  uint64_t Draw() {
    uint64_t drawn = 0;
    auto batch = NewBatch();
    Put(batch.get(), "OTHER", "behind", 1, {{"A", "x", Value::Int(1)}});
    EXPECT_TRUE(store().CommitBehindLine(std::move(batch), [&](uint64_t line, Batch* to) {
      drawn = line;
      to->PutMemo("line", "drawn", NoteOrder::kAfter);
    }));
    return drawn;
  }
  Rows ReadBefore(uint64_t line) {
    ScanSpec spec;
    spec.line = line;
    return Read("H", spec);
  }
};

TEST_F(LineTest, WhatWasWrittenLastBehindItIsLeftOut) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("H", "b", 5, {{"A", "x", Value::Int(1)}}));
  const uint64_t line = Draw();
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(2)}}));
  ASSERT_TRUE(Write("H", "b", 6, {{"A", "x", Value::Int(2)}}));
  ASSERT_TRUE(Write("H", "c", 5, {{"A", "x", Value::Int(2)}}));
  const Rows before = {{"a", {{"A:y@5", "1"}}}, {"b", {{"A:x@5", "1"}}}};
  EXPECT_EQ(ReadBefore(line), before);
  EXPECT_EQ(Read("OTHER"), (Rows{{"behind", {{"A:x@1", "1"}}}}));
  EXPECT_EQ(store().FindMemo("line")->value_or(""), "drawn");
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(ReadBefore(line), before) << "sealed";
  Reopen();
  EXPECT_EQ(ReadBefore(line), before);
}

TEST_F(LineTest, LinesFollowEachOther) {
  const uint64_t none = Draw();
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}}));
  const uint64_t one = Draw();
  ASSERT_TRUE(Write("H", "b", 5, {{"A", "x", Value::Int(1)}}));
  const uint64_t two = Draw();
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(ReadBefore(none).size(), 0u);
  EXPECT_EQ(ReadBefore(one).size(), 1u);
  EXPECT_EQ(ReadBefore(two).size(), 2u);
}

}  // namespace
}  // namespace tallyd

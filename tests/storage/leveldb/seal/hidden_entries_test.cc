#include "storage/leveldb/seal/hidden_entries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

// Rows r10000 and so on, of the time 1000 and the sequence 7.
class CountHiddenTest : public ::testing::Test {
 protected:
  uint64_t Count(const DeleteSpec& what, uint64_t sequence = 9) {
    looks_ = 0;
    const DeleteRange deleted(blocks_.table()->id, sequence, what);
    const Result<uint64_t> hidden = CountHidden(*file_, deleted, [this]() -> Status {
      ++looks_;
      return {};
    });
    return hidden.value();
  }
  static DeleteSpec Row(const std::string& row) {
    DeleteSpec what;
    what.rows = OneRow(row);
    return what;
  }

  BlockMaker blocks_;
  BlockFilePtr file_ = blocks_.MakeFile(1, "r", 10'000);
  int looks_ = 0;
};

TEST_F(CountHiddenTest, ARowThatTheFileHasIsCountedAndOneThatItHasNotIsNone) {
  EXPECT_EQ(Count(Row("r12345")), 1u);
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(Count(Row("r12345x")), 0u) << "between two that it has";
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(Count(Row("s")), 0u);
  EXPECT_EQ(looks_, 0) << "behind its last";
}

TEST_F(CountHiddenTest, OfARangeTheBlocksAtItsEndsAreLookedAt) {
  DeleteSpec what;
  what.rows = {"r10005", "r19995"};
  EXPECT_EQ(Count(what), 9990u);
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(Count({}), 10'000u);
  EXPECT_EQ(looks_, 0);
}

TEST_F(CountHiddenTest, TimesAndSequencesCount) {
  DeleteSpec what = Row("r12345");
  what.cells = {0, 1000};
  EXPECT_EQ(Count(what), 0u);
  what.cells = {1000, 1001};
  EXPECT_EQ(Count(what), 1u);
  EXPECT_EQ(Count(what, 7), 0u) << "what came with it, or later";
}

TEST_F(CountHiddenTest, OnlyColumnsThatAreThereAreHidden) {
  DeleteSpec what = Row("r12345");
  what.family = 0;
  EXPECT_EQ(Count(what), 1u);
  what.qualifier = "x";
  EXPECT_EQ(Count(what), 1u);
  what.qualifier = "y";
  EXPECT_EQ(Count(what), 0u);
  what.rows = {};
  EXPECT_EQ(Count(what), 0u);
  EXPECT_GT(looks_, 1);
  what.qualifier = "x";
  EXPECT_EQ(Count(what), 10'000u);
  EXPECT_EQ(looks_, 1) << "one that has it is enough";
}

TEST_F(CountHiddenTest, ABlockByPresenceTellsOfEachEntry) {
  const auto writer = blocks_.NewWriter(2);
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}, {0, "c"}}};
  TimeUs time = 1'000'000;
  for (const unsigned has : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 7u}) {
    std::vector<Value> values(3);
    for (size_t c = 0; c < 3; ++c) {
      if ((has >> c & 1) != 0) values[c] = Value::Int(1);
    }
    time += 1'000'000;
    writer->builder().Add({fmt::format("m#{:013}", time / 1000), time, 7}, set, values);
  }
  file_ = BlockMaker::Finish(writer.get());
  DeleteSpec what;
  what.rows = {"m", "m#0000000009000"};  // Not the last one.
  what.family = 0;
  EXPECT_EQ(Count(what), 7u);
  what.qualifier = "a";
  EXPECT_EQ(Count(what), 4u);
  what.qualifier = "d";
  EXPECT_EQ(Count(what), 0u);
}

TEST_F(CountHiddenTest, WhoeverStopsItIsToldSo) {
  const DeleteRange deleted(blocks_.table()->id, 9, Row("r12345"));
  const Result<uint64_t> hidden = CountHidden(
      *file_, deleted, []() -> Status { return Error(ErrorCode::kCancelled, "stop"); });
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace tallyd

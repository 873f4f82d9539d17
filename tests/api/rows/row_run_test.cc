// Rows that are read in several scans.
#include "service/rows/row_run.h"

#include <gtest/gtest.h>

#include "service/fill/fill_record.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

class RowRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* row : {"a", "b", "c"}) {
      const std::string event = std::string(R"({"ts":1,"k":")") + row + R"(","x":1})";
      ASSERT_EQ(world_.Post("s", event).status, 200u);
    }
  }

  std::unique_ptr<RowRun> Begin() {
    RowQuery query;
    query.access.snapshot = world_.context().snapshot();
    query.stored = store().FindTable("T");
    query.spec.ranges = {KeyRange{}};
    return std::make_unique<RowRun>(std::move(query), world_.context().read_parts());
  }
  void NoteFilling(uint64_t line) {
    FillRecord record;
    record.table = "T";
    record.source = "S";
    record.line = line;
    auto batch = store().NewBatch();
    batch->PutMemo(FillKey("T"), EncodeFill(record), NoteOrder::kBefore);
    ASSERT_TRUE(store().Commit(std::move(batch)));
  }
  Store& store() { return world_.context().store; }

  ApiWorld world_{
      "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
      "row_key = \"{k}#{ts:ms}\"\nfamilies.F = {}\n"};
};

TEST_F(RowRunTest, GoesOnBehindTheRowThatWasTakenLast) {
  const auto run = Begin();
  for (const char* row : {"a", "b", "c"}) {
    const Result<bool> more = run->Next();
    ASSERT_TRUE(more && *more);
    EXPECT_TRUE(run->Take().key.starts_with(row));
    run->Release();
  }
  const Result<bool> more = run->Next();
  EXPECT_TRUE(more && !*more);
}

TEST_F(RowRunTest, WhoReadsOnInATableThatAFillingEmptiedIsCut) {
  NoteFilling(7);
  const auto run = Begin();
  ASSERT_TRUE(run->Next());
  run->Take();
  run->Release();
  ASSERT_TRUE(run->Next()) << "it was filled before";
  run->Take();
  NoteFilling(0);
  run->Release();
  ASSERT_TRUE(run->Next()) << "another filling has begun";
  run->Take();
  NoteFilling(9);
  run->Release();
  const Result<bool> more = run->Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tallyd

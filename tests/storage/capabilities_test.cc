#include "storage/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/model_store.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

const Capabilities kBareEngine = {.engine = "other"};

TEST(Capabilities, ASchemaThatNeedsNothingIsHeldByAnyEngine) {
  Schema schema = MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)});
  schema.streams[0].time_required = true;
  EXPECT_TRUE(CheckHolds(kBareEngine, schema));
}

TEST(Capabilities, EachKeyThatNeedsWhatTheEngineHasNotIsNamed) {
  Table counts = MakeTable("C");
  counts.families[0].aggregate = Aggregate::kSum;
  counts.flush_us = kUsPerSecond;
  Table days = MakeTable("D");
  days.daily.emplace();
  const Status held = CheckHolds(kBareEngine, MakeSchema({counts, days}));
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code(), ErrorCode::kInvalid);
  for (const char* key :
       {"streams.s.time_required: the engine other", "tables.C.flush: the engine other",
        "tables.C.families: the engine other", "tables.D.daily: the engine other"}) {
    EXPECT_THAT(held.error().message(), HasSubstr(key));
  }
}

TEST(Capabilities, WhatAnEngineHasNotIsAConflictForWhoeverAsks) {
  ModelDisk disk;
  ManualClock clock;
  ModelStore model(&disk, &clock);
  Store& store = model;
  const Table table = MakeTable("H");
  const std::atomic<bool> stop = false;
  const auto code = [](const auto& result) {
    return result ? ErrorCode::kInvalid : result.error().code();
  };
  EXPECT_EQ(code(store.StageTable(table)), ErrorCode::kConflict);
  EXPECT_EQ(code(store.SwapStaged(table, 0)), ErrorCode::kConflict);
  EXPECT_EQ(code(store.DropStaged("H")), ErrorCode::kConflict);
  EXPECT_EQ(code(store.CommitBehindLine(store.NewBatch(), {})), ErrorCode::kConflict);
  EXPECT_EQ(code(store.SetWhole({}, 0)), ErrorCode::kConflict);
  EXPECT_EQ(code(store.Settle()), ErrorCode::kConflict);
  EXPECT_EQ(code(store.Backup("/nowhere", stop)), ErrorCode::kConflict);
  EXPECT_TRUE(store.StagedTables()->empty());
  EXPECT_TRUE(store.TrustClock()) << "the model has this one";
}

TEST(Capabilities, EachIsTold) {
  for (const auto& [name, has] : NamesOf(kBareEngine)) EXPECT_FALSE(has) << name;
  EXPECT_EQ(NamesOf(kBareEngine).size(), 10u);
}

}  // namespace
}  // namespace tallyd

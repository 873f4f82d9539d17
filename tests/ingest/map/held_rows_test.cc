#include "ingest/map/held_rows.h"

#include <gtest/gtest.h>

#include "tests/ingest/world.h"

namespace tallyd {
namespace {

constexpr const char* kTables = R"(
[tables.HITS]
stream = "page"
pattern = "single-timestamp"
row_key = "{page}#{ts:ms}"
families.F = {}
flush = "10s"
[tables.PAGE]
stream = "page"
pattern = "latest"
row_key = "{page}"
families.F = {}
)";

class HeldRowsTest : public ::testing::Test {
 protected:
  MapOutcome Map(std::string_view json) {
    world_.batch = std::make_unique<RecordingBatch>();
    world_.bodies.emplace_back(json);
    EXPECT_TRUE(world_.decoder.Decode(*FindBodyFormat(""), world_.bodies.back().view(),
                                      world_.shapes, &world_.events));
    return world_.mappers.begin()->second->Map(world_.events, world_.arrival, world_.batch.get(),
                                               &counters_);
  }

  World world_{kTables};
  HeldCounters counters_;
};

TEST_F(HeldRowsTest, AnEventIsHeldInOneTableAndWrittenToTheOthers) {
  const MapOutcome outcome = Map(R"([{"page":"a","hits":2,"ts":1000},{"page":"a","hits":3}])");
  EXPECT_TRUE(outcome.errors.empty()) << World::Errors(outcome);
  EXPECT_EQ(outcome.held, 2u);
  EXPECT_EQ(outcome.rows, 1u);
  EXPECT_FALSE(outcome.increments.empty());
  EXPECT_EQ(world_.Rows().find("HITS"), std::string::npos) << world_.Rows();
  EXPECT_EQ(counters_.rows(), 0u) << "not before the rest is durable";
}

TEST_F(HeldRowsTest, WhatIsNoIntegerRefusesTheEvent) {
  const MapOutcome outcome = Map(R"({"page":"a","hits":2.5})");
  EXPECT_EQ(World::Errors(outcome),
            "0[hits] column \"hits\" of table HITS, whose counters are added up (flush), is a "
            "float64; accepted: int64\n");
  EXPECT_TRUE(outcome.increments.empty());
  EXPECT_EQ(outcome.held, 0u);
}

TEST_F(HeldRowsTest, WithoutCountersTheTableIsLikeOthers) {
  world_.Map(R"({"page":"a","hits":2,"ts":1000})");
  EXPECT_NE(world_.Rows().find("HITS a#0000000001000 | F:hits=2@1000"), std::string::npos)
      << world_.Rows();
}

}  // namespace
}  // namespace tallyd

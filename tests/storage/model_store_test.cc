// The model takes the answers that the contract leaves open, and no others.
#include "tests/storage/model_store.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

class ModelStoreTest : public ::testing::Test, public StoreVerbs {
 protected:
  void SetUp() override {
    Table table = MakeTable("H");
    table.families[0].max_versions = 1;
    table.families[1].max_age_us = 100;
    ASSERT_TRUE(store_.Adopt(MakeSchema({table, MakeTable("L", Pattern::kLatest)})));
    clock.now = 1000;
  }

  Store& store() override { return store_; }

  void WriteCell(const std::string& family, TimeUs time) {
    ASSERT_TRUE(Write("H", "a", time, {{family, "x", Value::Int(time)}}));
  }
  bool Accepts(const Rows& answer) {
    ScanSpec spec;
    spec.now = clock.Now();
    return store_.Accepts("H", spec, answer);
  }

  ModelDisk disk_;
  ModelStore store_{&disk_, &clock};
};

TEST_F(ModelStoreTest, WhereNothingHasExpiredOneAnswerIsRight) {
  WriteCell("A", 950);
  WriteCell("B", 950);
  EXPECT_TRUE(Accepts({{"a", {{"A:x@950", "950"}, {"B:x@950", "950"}}}}));
  EXPECT_FALSE(Accepts({{"a", {{"A:x@950", "950"}}}})) << "a cell is missing";
  EXPECT_FALSE(Accepts({{"a", {{"A:x@950", "950"}, {"B:x@950", "9"}}}})) << "a wrong value";
  EXPECT_FALSE(Accepts({})) << "a row is missing";
  EXPECT_FALSE(Accepts({{"a", {{"A:x@950", "950"}, {"B:x@950", "950"}}}, {"b", {}}}));
}

TEST_F(ModelStoreTest, WhatHasExpiredIsNeverRight) {
  WriteCell("A", 950);
  WriteCell("A", 960);
  EXPECT_TRUE(Accepts({{"a", {{"A:x@960", "960"}}}}));
  EXPECT_FALSE(Accepts({{"a", {{"A:x@950", "950"}}}}));
}

TEST_F(ModelStoreTest, WhatExpiredOnceMayBeThereOrNotWhenTheClockGoesBack) {
  WriteCell("B", 950);
  clock.Pass(60);
  EXPECT_FALSE(Accepts({{"a", {{"B:x@950", "950"}}}}));
  store_.Expire(clock.Now());
  clock.now -= 60;
  EXPECT_TRUE(Accepts({{"a", {{"B:x@950", "950"}}}}));
  EXPECT_TRUE(Accepts({}));
}

TEST_F(ModelStoreTest, AVersionThatExpiredMayComeBackWhenANewerOneIsDeleted) {
  WriteCell("A", 950);
  WriteCell("A", 960);
  DeleteSpec what;
  what.cells = {960, 961};
  ASSERT_TRUE(Erase("H", what));
  EXPECT_TRUE(Accepts({{"a", {{"A:x@950", "950"}}}}));
  EXPECT_TRUE(Accepts({}));
  EXPECT_FALSE(Accepts({{"a", {{"A:x@960", "960"}}}}));
}

}  // namespace
}  // namespace tallyd

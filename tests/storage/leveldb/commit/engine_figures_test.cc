#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "storage/leveldb/commit/engine.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class EngineFiguresTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}}));
  }
};

TEST_F(EngineFiguresTest, WhatIsNotSealedIsTold) {
  EXPECT_GT(store().State().unsealed_bytes, 0u);
  EXPECT_EQ(Gauge("tallyd_store_unsealed_bytes"),
            static_cast<double>(store().State().unsealed_bytes));
  EXPECT_EQ(Told("block_files"), 0u);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(store().State().unsealed_bytes, 0u);
  EXPECT_EQ(Told("block_files"), 1u);
  EXPECT_EQ(Gauge("tallyd_store_block_files"), 1);
}

TEST_F(EngineFiguresTest, DiskBytesLeaveTheBallastOut) {
  const uint64_t before = Told("disk_bytes");
  EXPECT_GT(before, 0u);
  std::ofstream(config().path + "/ballast") << std::string(1'000'000, ' ');
  EXPECT_LT(Told("disk_bytes"), before + 1'000'000);
  std::ofstream(config().path + "/data") << std::string(1'000'000, ' ');
  EXPECT_GE(Told("disk_bytes"), before + 1'000'000);
}

TEST_F(EngineFiguresTest, GaugesOfOneNameFollowEachOther) {
  std::vector<std::string> names;
  for (const StoreGauge& gauge : store().State().gauges) {
    if (names.empty() || names.back() != gauge.name) names.push_back(gauge.name);
  }
  const std::set<std::string> distinct(names.begin(), names.end());
  EXPECT_EQ(distinct.size(), names.size());
  EXPECT_TRUE(distinct.contains("tallyd_leveldb_files"));
}

TEST_F(EngineFiguresTest, AClosedStoreTellsNothingAndDoesNotFail) {
  store().Close();
  EXPECT_EQ(Told("block_files"), 0u);
  EXPECT_FALSE(store().State().writable);
}

}  // namespace
}  // namespace tallyd

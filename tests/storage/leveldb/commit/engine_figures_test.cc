#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

  // What takes at least `kNoise` bytes, in whichever form.
  void WriteNoise() {
    std::mt19937_64 random(1);
    auto batch = NewBatch();
    for (size_t row = 0; row < kNoise / 8; ++row) {
      const auto value = static_cast<int64_t>(random());
      Put(batch.get(), "H", "r" + std::to_string(row), 5, {{"A", "x", Value::Int(value)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  void MakeFile(const std::string& directory, const std::string& name) {
    std::filesystem::create_directories(config().path + directory);
    std::ofstream(config().path + directory + "/" + name) << std::string(kStray, ' ');
  }

  static constexpr size_t kNoise = 64'000;
  static constexpr uint64_t kLeast = kNoise / 4 * 3;  // Files of base may shrink meanwhile.
  static constexpr uint64_t kStray = 1'000'000;
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

TEST_F(EngineFiguresTest, EveryOpeningIsToldWithWhatThereWasByThen) {
  const auto openings = [this] {
    std::vector<std::pair<std::string, uint64_t>> all;
    for (const StoreMember& member : store().State().members) {
      if (member.name != "openings") continue;
      for (const StoreMember& one : std::get<StoreMember::Members>(member.value)) {
        const auto& told = std::get<StoreMember::Members>(one.value);
        all.emplace_back(std::get<std::string>(told[0].value), std::get<uint64_t>(told[1].value));
      }
    }
    return all;
  };
  const auto first = openings();
  ASSERT_EQ(first.size(), 1u);
  const uint64_t changes = Told("changes");
  EXPECT_GT(changes, first[0].second);
  Reopen();
  const auto second = openings();
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_NE(second[1].first, first[0].first);
  EXPECT_GE(second[1].second, changes);
  EXPECT_EQ(Told("openings_before"), 0u);
}

TEST_F(EngineFiguresTest, DiskBytesLeaveTheBallastOut) {
  const uint64_t before = Told("disk_bytes");
  EXPECT_GT(before, 0u);
  std::ofstream(config().path + "/ballast") << std::string(1'000'000, ' ');
  EXPECT_LT(Told("disk_bytes"), before + 1'000'000);
  std::ofstream(config().path + "/data") << std::string(1'000'000, ' ');
  EXPECT_GE(Told("disk_bytes"), before + 1'000'000);
}

TEST_F(EngineFiguresTest, DiskBytesAreThoseOfHeadsBlockFilesAndLostOnesToo) {
  const uint64_t before = Told("disk_bytes");
  WriteNoise();
  EXPECT_GT(Told("disk_bytes"), before + kLeast) << "in a head";
  ASSERT_TRUE(store().Settle());
  EXPECT_GT(Told("disk_bytes"), before + kLeast) << "in a block file";
  MakeFile("/lost", "000042.blocks");
  EXPECT_GT(Told("disk_bytes"), before + kStray);
}

// A walk of them all would stat every block file, and end where a head is removed under it.
TEST_F(EngineFiguresTest, DiskBytesOfHeadsAndBlockFilesAreThoseOnRecord) {
  ASSERT_NO_FATAL_FAILURE(WriteNoise());
  ASSERT_TRUE(store().Settle());
  const uint64_t before = Told("disk_bytes");
  MakeFile("/heads/000000", "stray.log");
  MakeFile("/blocks", "stray");
  EXPECT_LT(Told("disk_bytes"), before + kStray);
}

TEST_F(EngineFiguresTest, WhileNothingIsOpenDiskBytesAreLookedForOnTheDisk) {
  store().Close();
  MakeFile("/heads/000099", "000003.log");
  EXPECT_GT(Told("disk_bytes"), kStray);
  MakeFile("/blocks", "000099.blocks");
  EXPECT_GT(Told("disk_bytes"), 2 * kStray);
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

// No write fails for it: they are refused before.
TEST_F(EngineFiguresTest, AStoreOnAFullDiskIsNotWritable) {
  measure = [](const std::string&) { return VolumeSpace{1u << 30, 0}; };
  config().free_space_floor = 1u << 20;
  Reopen();
  const StoreState state = store().State();
  EXPECT_FALSE(state.writable);
  EXPECT_NE(state.reason.find("full"), std::string::npos) << state.reason;
  EXPECT_EQ(Metric("tallyd_commit_failures_total"), 0);
}

}  // namespace
}  // namespace tallyd

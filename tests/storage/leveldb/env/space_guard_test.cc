#include "storage/leveldb/env/space_guard.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr uint64_t kMiB = 1u << 20;

TEST(PlanSpaceTest, DefaultsFitALargeVolume) {
  const SpaceBudget budget = PlanSpace(StorageConfig{}, 100'000 * kMiB);
  EXPECT_EQ(budget.floor, 16 * kMiB);
  EXPECT_EQ(budget.ballast, 48 * kMiB);
  EXPECT_EQ(budget.write_buffer, 32 * kMiB);
}

TEST(PlanSpaceTest, TheReserveIsNeverAbove64MiB) {
  StorageConfig config;
  config.ballast = 500 * kMiB;
  config.free_space_floor = 500 * kMiB;
  const SpaceBudget budget = PlanSpace(config, 100'000 * kMiB);
  EXPECT_LE(budget.floor + budget.ballast, 64 * kMiB);
}

TEST(PlanSpaceTest, ASmallVolumeGivesASixteenth) {
  const SpaceBudget budget = PlanSpace(StorageConfig{}, 64 * kMiB);
  EXPECT_LE(budget.floor + budget.ballast, 4 * kMiB);
  EXPECT_GT(budget.floor, 0u);
  EXPECT_LT(budget.write_buffer, budget.ballast) << "recovery fits the ballast";
}

class SpaceGuardTest : public ::testing::Test {
 protected:
  SpaceGuardTest() {
    spdlog::set_level(spdlog::level::off);
    config_.path = dir_.path();
    config_.ballast = kMiB;
    config_.free_space_floor = kMiB;
  }
  std::string Ballast() const { return dir_.path() + "/ballast"; }

  TempDir dir_;
  StorageConfig config_;
};

TEST_F(SpaceGuardTest, TheBallastTakesItsSpaceAndIsMadeAgain) {
  SpaceGuard guard(config_);
  ASSERT_TRUE(guard.Admit());
  EXPECT_EQ(std::filesystem::file_size(Ballast()), kMiB);
  guard.Release();
  EXPECT_FALSE(std::filesystem::exists(Ballast()));
  ASSERT_TRUE(guard.Admit());
  EXPECT_EQ(std::filesystem::file_size(Ballast()), kMiB);
}

TEST_F(SpaceGuardTest, WhatIsKeptFreeIsTheFloorAndTheBallastWhileThatIsNotThere) {
  SpaceGuard guard(config_, [](const std::string&) {
    return VolumeSpace{100'000 * kMiB, 10'000 * kMiB};
  });
  EXPECT_EQ(guard.keep_free(), 2 * kMiB);
  ASSERT_TRUE(guard.Admit());
  EXPECT_EQ(guard.keep_free(), kMiB);
  guard.Release();
  EXPECT_EQ(guard.keep_free(), 2 * kMiB);
}

TEST_F(SpaceGuardTest, ABallastOfAnotherSizeIsReplaced) {
  std::ofstream(Ballast()) << "too small";
  SpaceGuard guard(config_);
  ASSERT_TRUE(guard.Admit());
  EXPECT_EQ(std::filesystem::file_size(Ballast()), kMiB);
}

// A volume of 64 MiB, such as:
//   unshare -Urm sh -c 'mount -t tmpfs -o size=64m none /mnt && TALLYD_TEST_SMALL_DISK=/mnt ...'
TEST(FullDiskTest, WritesResumeByThemselvesAndNothingIsLost) {
  const char* disk = std::getenv("TALLYD_TEST_SMALL_DISK");
  if (disk == nullptr) GTEST_SKIP() << "TALLYD_TEST_SMALL_DISK names no small volume";
  StoreHarness harness;
  harness.config() = StorageConfig{};
  harness.config().path = std::string(disk) + "/db";
  harness.Open();
  ASSERT_TRUE(harness.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
  const std::string hog = std::string(disk) + "/hog";
  size_t rows = 0;
  for (int round = 0; round < 3; ++round) {
    const auto free = std::filesystem::space(disk).available;
    {
      std::ofstream out(hog, std::ios::binary);
      const std::string chunk(64u << 10, 'x');
      // Round by round less is left: to the floor, then below it.
      const uint64_t left = round == 0 ? 5 * kMiB : round == 1 ? 2 * kMiB : 0;
      for (uint64_t size = 0; size + left < free && out; size += chunk.size()) out << chunk;
    }
    std::mt19937_64 random(static_cast<unsigned>(round));
    const auto row = [&] { return std::to_string(1'000'000 + rows); };
    const auto write = [&] {
      std::string noise(20'000, '\0');
      for (char& c : noise) c = static_cast<char>(random());
      auto batch = harness.NewBatch();
      for (const char* table : {"H", "L"}) {
        harness.Put(batch.get(), table, row(), 1, {{"A", "x", Value::Bytes(noise)}});
      }
      return harness.Commit(std::move(batch));
    };
    bool refused = false;
    for (int i = 0; i < 2000 && !refused; ++i) {
      const Status written = write();
      if (written) ++rows;
      refused = !written;
      if (refused) {
        EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
      }
    }
    EXPECT_TRUE(refused);
    // A scan that the reopen interrupts is told so; the next one reads on while the disk is full.
    Result<Rows> read = harness.TryRead("H");
    if (!read) {
      EXPECT_EQ(read.error().code(), ErrorCode::kUnavailable);
      read = harness.TryRead("H");
    }
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_GE(read->size(), rows);
    std::filesystem::remove(hog);
    const auto freed = std::chrono::steady_clock::now();
    while (!write()) {
      ASSERT_LT(std::chrono::steady_clock::now() - freed, std::chrono::seconds(5));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ++rows;
    EXPECT_GE(harness.Read("H").size(), rows);
    harness.Reopen();
    EXPECT_GE(harness.Read("H").size(), rows);
    EXPECT_EQ(harness.Read("H"), harness.Read("L"));
    ASSERT_TRUE(harness.Erase("H", DeleteSpec{}));
    ASSERT_TRUE(harness.Erase("L", DeleteSpec{}));
    harness.AwaitPurge();
    rows = 0;
  }
}

}  // namespace
}  // namespace tallyd

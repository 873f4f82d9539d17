#include "storage/leveldb/seal/window_writer.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

class WindowWriterTest : public ::testing::Test, public BlockMaker {
 protected:
  WindowWriterTest() : writer_({&shelf(), table(), 5, 100, &next_}) {}

  void Add(TimeUs time, uint64_t sequence = 7) {
    WholeEntry entry;
    entry.row_key = "r" + std::to_string(10'000 + rows_++);
    entry.time = time;
    entry.sequence = sequence;
    entry.set = &set();
    entry.values = {Value::Int(time)};
    ASSERT_TRUE(writer_.Add(entry));
  }
  std::vector<BlockFilePtr> Finish() {
    std::vector<BlockFilePtr> files;
    auto written = writer_.Complete();
    EXPECT_TRUE(written);
    for (const auto& writer : *written) {
      EXPECT_TRUE(writer->Sync());
      files.push_back(writer->Finish());
    }
    return files;
  }

  std::atomic<uint64_t> next_{1};
  WindowWriter writer_;
  int rows_ = 0;
};

TEST_F(WindowWriterTest, EachWindowHasAFile) {
  for (const TimeUs time : {0, 99, 100, 250}) Add(time);
  const auto files = Finish();
  ASSERT_EQ(files.size(), 3u);
  std::set<TimeUs> windows;
  for (const BlockFilePtr& file : files) {
    windows.insert(file->info().window);
    EXPECT_EQ(file->info().width, 100);
    EXPECT_EQ(file->info().deletes, 5u);
    EXPECT_EQ(file->info().max_sequence, 7u);
    EXPECT_EQ(file->info().table, 3u);
  }
  EXPECT_EQ(windows, (std::set<TimeUs>{0, 100, 200}));
}

TEST_F(WindowWriterTest, AStrayTimeWidensNobodysWindow) {
  Add(10);
  Add(4'102'444'800'000'000);
  Add(20);
  for (const BlockFilePtr& file : Finish()) EXPECT_EQ(file->info().width, 100);
}

TEST_F(WindowWriterTest, WhatIsInMoreWindowsThanMayBeOpenGoesToWiderOnes) {
  constexpr int kWindows = 500;
  for (int i = 0; i < kWindows; ++i) Add(i * 100 + 50);
  const auto files = Finish();
  EXPECT_LT(files.size(), 60u);
  uint64_t entries = 0;
  for (const BlockFilePtr& file : files) {
    const BlockFileInfo& info = file->info();
    entries += info.entries;
    EXPECT_EQ(info.window % info.width, 0);
    EXPECT_GE(info.min_time, info.window);
    EXPECT_LT(info.max_time, info.window + info.width);
  }
  EXPECT_EQ(entries, uint64_t{kWindows});
}

TEST_F(WindowWriterTest, NumbersAreGivenOnce) {
  Add(10);
  Add(110);
  const auto files = Finish();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_NE(files[0]->info().number, files[1]->info().number);
}

}  // namespace
}  // namespace tallyd

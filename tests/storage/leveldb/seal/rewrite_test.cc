// A head into block files, and block files into fewer: nothing is lost, and of two writes to a
// cell the later one is left.
#include "storage/leveldb/seal/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/read/block_source.h"
#include "tests/storage/leveldb/history_maker.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

// "row@time" -> "value/sequence"
using Kept = std::map<std::string, std::string>;

class RewriteTest : public ::testing::Test, public HistoryMaker {
 protected:
  RewriteTest() {
    Open();
    StoredCatalogue stored;
    stored.tables[kTable] = *table();
    stored.next_table = kTable + 1;
    state_.catalogue.Reload(std::move(stored));
    EXPECT_TRUE(state_.sets.Load(kTable, set().id, set().columns));
    state_.next_file = 1000;
    input_.database = &database();
    input_.state = &state_;
    input_.pacer = &pacer_;
    input_.stopping = [this] { return stopping_; };
    input_.window_us = kUsPerDay;
  }

  std::vector<BlockFilePtr> Files() { return database().view()->FilesOf(kTable); }
  Result<MergedFiles> Merge() {
    const auto lease = NewLease();
    return MergeFiles(input_, lease.get(), Files());
  }
  // An entry is there once.
  Kept Read(const std::vector<BlockFilePtr>& files) {
    ColumnPlan plan(table(), state_.sets, 0);
    Kept kept;
    for (const BlockFilePtr& file : files) {
      BlockSource source(file, &plan, {0, kMaxTimeUs + 1});
      Status moved = source.SeekRow("");
      WholeEntry entry;
      for (; moved && source.valid(); moved = source.Next()) {
        EXPECT_TRUE(source.Read(&entry));
        const std::string cell = fmt::format("{}@{}", entry.row_key, entry.time);
        const std::string value = fmt::format("{}/{}", ToText(entry.values[0]), entry.sequence);
        EXPECT_TRUE(kept.emplace(cell, value).second) << cell << " is there twice";
      }
      EXPECT_TRUE(moved);
    }
    return kept;
  }
  size_t FilesOnDisk() {
    size_t files = 0;
    for ([[maybe_unused]] const auto& file :
         fs::directory_iterator(BlockFilesDirectory(database().path()))) {
      ++files;
    }
    return files;
  }

  EngineState state_;
  Pacer pacer_{1, [] { return true; }};
  bool stopping_ = false;
  RewriteInput input_;
};

TEST_F(RewriteTest, AHeadBecomesFilesOfItsWindows) {
  Put({{"a", 5, 1, 1}, {"b", kUsPerDay + 5, 2, 2}, {"c", 6, 3, 3}});
  BeginHead();
  Put({{"d", 5, 4, 4}});
  const auto lease = NewLease();
  const Result<SealedHead> sealed = SealOldestHead(input_, lease.get());
  ASSERT_TRUE(sealed) << sealed.error().message();
  EXPECT_EQ(sealed->head, 1u);
  EXPECT_EQ(sealed->last_sequence, 3u);
  EXPECT_EQ(sealed->entries, 3u);
  EXPECT_EQ(sealed->files.size(), 2u);
  EXPECT_EQ(Read(sealed->files), (Kept{{"a@5", "1/3"}, {"b@86400000005", "2/3"}, {"c@6", "3/3"}}))
      << "each has the last sequence of its head";
}

TEST_F(RewriteTest, OfWritesToACellInOneHeadTheLastIsLeft) {
  Put({{"a", 5, 1, 1}, {"a", 5, 2, 2}});
  Put({{"a", 5, 3, 3}, {"a", 4, 4, 4}});
  BeginHead();
  const auto lease = NewLease();
  const Result<SealedHead> sealed = SealOldestHead(input_, lease.get());
  ASSERT_TRUE(sealed);
  EXPECT_EQ(Read(sealed->files), (Kept{{"a@5", "3/4"}, {"a@4", "4/4"}}));
}

TEST_F(RewriteTest, DeletesOfAHeadAreHandedToBase) {
  const DeleteSpec what;
  leveldb::WriteBatch batch;
  batch.Put(DeleteKey(kTable, 9), EncodeDelete(what, 1));
  HeadWrite write;
  write.batch = &batch;
  Put({{"a", 5, 1, 1}});
  ASSERT_TRUE(database().WriteHead(write, [] {}));
  BeginHead();
  const auto lease = NewLease();
  const Result<SealedHead> sealed = SealOldestHead(input_, lease.get());
  ASSERT_TRUE(sealed);
  ASSERT_EQ(sealed->records.size(), 1u);
  EXPECT_EQ(sealed->records[0].first, DeleteKey(kTable, 9));
}

// Files that were numbered from 0 on would lose to what they overwrote.
TEST_F(RewriteTest, AHeadWhoseLastSequenceCannotBeReadIsNotSealed) {
  Put({{"a", 5, 1, 1}});
  leveldb::WriteBatch batch;
  batch.Put(MetaKey(MetaKind::kLastSequence), "short");
  HeadWrite write;
  write.batch = &batch;
  ASSERT_TRUE(database().WriteHead(write, [] {}));
  BeginHead();
  const auto lease = NewLease();
  const Result<SealedHead> sealed = SealOldestHead(input_, lease.get());
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(sealed.error().message().find("/heads/000001"), std::string::npos)
      << sealed.error().message();
}

TEST_F(RewriteTest, AnEmptyTableBecomesNoFile) {
  leveldb::WriteBatch batch;
  batch.Put("\x01other", "space");
  HeadWrite write;
  write.batch = &batch;
  ASSERT_TRUE(database().WriteHead(write, [] {}));
  BeginHead();
  const auto lease = NewLease();
  const Result<SealedHead> sealed = SealOldestHead(input_, lease.get());
  ASSERT_TRUE(sealed);
  EXPECT_TRUE(sealed->files.empty());
}

TEST_F(RewriteTest, MergedFilesHoldWhatTheirInputsHeld) {
  std::mt19937_64 random(1);
  uint64_t sequence = 0;
  std::map<std::string, std::string> expected;
  for (int file = 0; file < 4; ++file) {
    std::map<std::pair<std::string, TimeUs>, HistoryEntry> entries;
    ++sequence;
    // One that shares its rows with the others, and one that has its own: those are copied as runs
    // and blocks.
    for (int i = 0; i < 5000; ++i) {
      const bool is_shared = file % 2 == 0;
      const auto time = static_cast<TimeUs>(random() % 100'000'000);
      const std::string row =
          is_shared ? fmt::format("r{}", random() % 50) : fmt::format("s{}#{:05}", file, i);
      entries[{row, time}] = {row, time, sequence, static_cast<int64_t>(random() % 1000)};
    }
    std::vector<HistoryEntry> list;
    for (const auto& [key, entry] : entries) {
      list.push_back(entry);
      expected[fmt::format("{}@{}", entry.row, entry.time)] =
          fmt::format("{}/{}", entry.value, entry.sequence);
    }
    MakeFile(list);
  }
  const Result<MergedFiles> merged = Merge();
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_EQ(merged->from, Files());
  ASSERT_EQ(merged->files.size(), 1u);
  EXPECT_GE(merged->files[0]->info().number, 1000u) << "a number is never given twice";
  EXPECT_EQ(merged->entries, expected.size());
  EXPECT_EQ(Read(merged->files), expected);
}

// A row of a day with a column for each time, as of meters, in files of one part of the day each.
TEST_F(RewriteTest, RowsOfManyNarrowEntriesAreMergedByTheirTimes) {
  constexpr int kRows = 300;
  constexpr int kTimes = 60;
  for (uint32_t i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(state_.sets.Load(kTable, 100 + i, {{0, fmt::format("t{}", i)}}));
  }
  std::map<std::string, std::string> expected;
  for (const auto& [number, times] :
       std::map<uint64_t, std::pair<int, int>>{{1, {0, 20}}, {2, {20, 50}}, {3, {45, kTimes}}}) {
    BlockFileInfo info;
    info.number = number;
    info.width = kUsPerDay;
    BlockFileWriter writer(&database().shelf(), table(), info);
    for (int row = 0; row < kRows; ++row) {
      const std::string key = fmt::format("m{:04}", row);
      for (int time = times.second; time-- > times.first;) {
        const ColumnSet& set = *state_.sets.Find(kTable, 100 + static_cast<uint32_t>(time));
        const auto value = static_cast<int64_t>(number * 1000) + row;
        ASSERT_TRUE(writer.FlushFull(key, time, 1));
        writer.builder().Add({key, time, number}, set, std::vector{Value::Int(value)});
        expected[fmt::format("{}@{} t{}", key, time, time)] = fmt::format("{}/{}", value, number);
      }
    }
    ASSERT_TRUE(writer.Complete());
    ASSERT_TRUE(writer.Sync());
    const BlockFilePtr file = writer.Finish();
    database().ChangeView([&](View* view) { view->Replace({}, {file}); });
  }
  const Result<MergedFiles> merged = Merge();
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_EQ(merged->entries, expected.size());
  ColumnPlan plan(table(), state_.sets, 0);
  std::map<std::string, std::string> read;
  for (const BlockFilePtr& file : merged->files) {
    BlockSource source(file, &plan, {0, kMaxTimeUs + 1});
    WholeEntry entry;
    for (Status moved = source.SeekRow(""); moved && source.valid(); moved = source.Next()) {
      ASSERT_TRUE(source.Read(&entry));
      ASSERT_EQ(entry.values.size(), 1u);
      read[fmt::format("{}@{} {}", entry.row_key, entry.time, entry.column(0).qualifier)] =
          fmt::format("{}/{}", ToText(entry.values[0]), entry.sequence);
    }
  }
  EXPECT_EQ(read, expected);
}

TEST_F(RewriteTest, TheLaterSequenceWinsInWhicheverFileItIs) {
  MakeFile({{"a", 5, 50, 1}, {"b", 5, 120, 2}});
  MakeFile({{"a", 5, 100, 3}, {"b", 5, 100, 4}});
  const Result<MergedFiles> merged = Merge();
  ASSERT_TRUE(merged);
  EXPECT_EQ(Read(merged->files), (Kept{{"a@5", "3/100"}, {"b@5", "2/120"}}));
}

TEST_F(RewriteTest, WhatDeletesHideIsLeftOut) {
  MakeFile({{"a", 5, 1, 1}, {"b", 5, 1, 2}, {"c", 5, 9, 3}});
  MakeFile({{"d", 5, 2, 4}});
  DeleteSpec what;
  what.rows = {"b", "d"};
  database().ChangeView([&](View* view) {
    view->AddDeletes({std::make_shared<const DeleteRange>(kTable, 5, what)});
  });
  const Result<MergedFiles> merged = Merge();
  ASSERT_TRUE(merged);
  EXPECT_EQ(Read(merged->files), (Kept{{"a@5", "1/1"}, {"c@5", "3/9"}, {"d@5", "4/2"}}));
  EXPECT_GE(merged->files[0]->info().deletes, 5u) << "it need not be asked again";
}

TEST_F(RewriteTest, WhoStopsLeavesNoFile) {
  MakeFile({{"a", 5, 1, 1}});
  MakeFile({{"b", 5, 2, 2}});
  stopping_ = true;
  EXPECT_EQ(Merge().error().code(), ErrorCode::kCancelled);
  stopping_ = false;
  input_.yield = [] { return Status(Error(ErrorCode::kNoSpace, "full")); };
  EXPECT_EQ(Merge().error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(FilesOnDisk(), 2u);
}

TEST_F(RewriteTest, AFullDiskLeavesNoFile) {
  MakeFile({{"a", 5, 1, 1}});
  MakeFile({{"b", 5, 2, 2}});
  for (uint64_t call = 1;; ++call) {
    env().FailAt(env().calls() + call, Fault::kNoSpace, false);
    const Result<MergedFiles> merged = Merge();
    const bool failed = env().failed();
    env().Heal();
    ASSERT_EQ(!merged, failed) << call;
    if (merged) return;
    EXPECT_EQ(merged.error().code(), ErrorCode::kNoSpace);
    EXPECT_EQ(FilesOnDisk(), 2u) << call;
    ASSERT_LT(call, 50u);
  }
}

TEST_F(RewriteTest, DamagedInputIsAnErrorThatNamesItAndLeavesNoFile) {
  MakeFile({{"a", 5, 1, 1}});
  MakeFile({{"b", 5, 2, 2}});
  const std::string path = Files()[1]->path();
  {
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(10);
    bytes.put('?');
  }
  const Result<MergedFiles> merged = Merge();
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(merged.error().message().find(path), std::string::npos);
  EXPECT_EQ(FilesOnDisk(), 2u);
}

TEST_F(RewriteTest, ATableThatIsGoneIsNotMerged) {
  MakeFile({{"a", 5, 1, 1}});
  state_.catalogue.Reload({});
  EXPECT_EQ(Merge().error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tallyd

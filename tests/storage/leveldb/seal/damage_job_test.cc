#include "storage/leveldb/seal/damage_job.h"

#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <memory>

#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

class DamageJobTest : public SealerFixture {
 protected:
  // Rows in one sealed file.
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    PutRows("H", "r", 5000);
    ASSERT_TRUE(store().Settle());
    ASSERT_EQ(BlockFiles().size(), 1u);
    file_ = BlockFiles()[0];
  }
  // A bit of the last block; twice is as before.
  void Damage() { FlipByteAt(file_, static_cast<std::streamoff>(BlockBytes() - 1)); }
  void PutBack() { Damage(); }
  size_t BlockBytes() const {
    const size_t footer = std::filesystem::file_size(file_) - BlockFileFooter::kBytes;
    std::ifstream bytes(file_, std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(footer));
    uint64_t index = 0;
    for (int i = 0; i < 8; ++i) index = index << 8 | static_cast<uint8_t>(bytes.get());
    return index;
  }
  void MeetTheDamage() {
    size_t rows = 0;
    const auto scan = store().Scan(Find("H"), ScanSpec());
    Result<bool> more = scan->Next();
    for (; more && *more; more = scan->Next()) ++rows;
    ASSERT_FALSE(more);
    EXPECT_LT(rows, 5000u);
    ASSERT_TRUE(store().Settle());
  }
  double DamagedFilesTold() { return Gauge("tallyd_damaged_files"); }
  // By its place: closed, as another LevelDB opens it.
  int NotesInBase() {
    Close();
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(leveldb::Options(), config().path, &opened).ok());
    const std::unique_ptr<leveldb::DB> base(opened);
    const std::unique_ptr<leveldb::Iterator> it(base->NewIterator(leveldb::ReadOptions()));
    int notes = 0;
    for (it->Seek("\x12"); it->Valid() && it->key()[0] == 0x12; it->Next()) ++notes;
    return notes;
  }

  std::filesystem::path file_;
};

TEST_F(DamageJobTest, WhatWasMetIsToldAfterARestart) {
  Damage();
  Reopen();
  EXPECT_EQ(DamagedFilesTold(), 0) << "nobody has looked";
  MeetTheDamage();
  EXPECT_EQ(DamagedFilesTold(), 1);
  for (int start = 0; start < 2; ++start) {
    Reopen();
    EXPECT_EQ(DamagedFilesTold(), 1);
    ASSERT_TRUE(store().Settle());
    EXPECT_EQ(DamagedFilesTold(), 1);
  }
  EXPECT_EQ(NotesInBase(), 1);
}

TEST_F(DamageJobTest, AFileThatWasPutBackIsWell) {
  Damage();
  Reopen();
  MeetTheDamage();
  Close();
  PutBack();
  Reopen();
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(DamagedFilesTold(), 0);
  EXPECT_EQ(Read("H").size(), 5000u);
  EXPECT_EQ(NotesInBase(), 0);
}

TEST_F(DamageJobTest, AMissingFileIsToldByTheStartItself) {
  Close();
  const std::filesystem::path aside = file_.string() + ".aside";
  std::filesystem::rename(file_, aside);
  Reopen();
  EXPECT_EQ(DamagedFilesTold(), 1);
  ASSERT_TRUE(store().Settle());
  Close();
  std::filesystem::rename(aside, file_);
  Reopen();
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(DamagedFilesTold(), 0);
  EXPECT_EQ(Read("H").size(), 5000u);
}

TEST_F(DamageJobTest, TheNoteGoesWithTheFile) {
  Damage();
  Reopen();
  MeetTheDamage();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("G")})));
  ASSERT_TRUE(store().DropTable("H"));
  ASSERT_TRUE(Await([&] { return BlockFiles().empty(); }));
  EXPECT_EQ(DamagedFilesTold(), 0);
  Reopen();
  EXPECT_EQ(DamagedFilesTold(), 0);
  EXPECT_EQ(NotesInBase(), 0);
}

TEST(StartTest, AStartOpensNoBlockFileAndAReopenReadsNoIndex) {
  FaultEnv env;
  StoreHarness store(&env);
  store.Open();
  ASSERT_TRUE(store.Adopt(MakeSchema({MakeTable("H")})));
  for (int day = 0; day < 20; ++day) {
    ASSERT_TRUE(store.Write("H", "r", day * kUsPerDay * 40, {{"A", "x", Value::Int(day)}}));
  }
  ASSERT_TRUE(store.store().Settle());
  const uint64_t files = store.Told("block_files");
  EXPECT_GT(files, 5u);
  store.Close();
  const uint64_t before = env.block_files_opened();
  store.Reopen();
  ASSERT_TRUE(store.store().Settle());
  EXPECT_EQ(env.block_files_opened(), before);
  EXPECT_EQ(store.Read("H").size(), 1u);
  const uint64_t opened = env.block_files_opened();
  EXPECT_EQ(opened, before + files);
  env.FailAt(env.calls() + 1, Fault::kIo, false);
  EXPECT_FALSE(store.Write("H", "s", 1, {{"A", "x", Value::Int(1)}}));
  while (!store.Write("H", "t", 1, {{"A", "x", Value::Int(1)}})) std::this_thread::yield();
  EXPECT_GE(store.Read("H").size(), 2u);
  EXPECT_EQ(env.block_files_opened(), opened) << "indexes and descriptors are kept";
}

}  // namespace
}  // namespace tallyd

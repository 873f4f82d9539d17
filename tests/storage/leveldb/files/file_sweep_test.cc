#include "storage/leveldb/files/file_sweep.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class FileSweepTest : public ::testing::Test, public BlockMaker {
 protected:
  FileSweepTest() {
    record_.store = "a store";
    shelf().SetStore(record_.store);
  }

  FileSweep Sweep() {
    const Result<FileSweep> swept = SweepFiles(&shelf(), shelf().directory(), record_);
    EXPECT_TRUE(swept);
    return swept ? *swept : FileSweep();
  }
  // A file that is there and that nobody holds.
  std::string Make(uint64_t number) { return MakeFile(number, "r", 100)->path(); }
  std::string Lost(const std::string& name) const { return LostPath() + "/" + name; }
  std::string LostPath() const { return LostDirectory(directory_); }
  static void Put(const std::string& path) { std::ofstream(path) << "x"; }

  const std::string directory_ = shelf().directory();
  FilesOnRecord record_;
};

TEST_F(FileSweepTest, WhatBaseNamesStays) {
  record_.files = {MakeFile(1, "r", 100), MakeFile(2, "r", 100)};
  const FileSweep swept = Sweep();
  EXPECT_EQ(swept.greatest, 2u);
  EXPECT_TRUE(swept.lost.empty());
  EXPECT_TRUE(fs::exists(record_.files[0]->path()));
  EXPECT_TRUE(shelf().damaged().All().empty());
  EXPECT_FALSE(fs::exists(LostPath()));
}

TEST_F(FileSweepTest, ACompleteFileThatNobodyNamesGoesToLost) {
  const std::string path = Make(7);
  const auto size = fs::file_size(path);
  for (int start = 0; start < 2; ++start) {
    const FileSweep swept = Sweep();
    EXPECT_FALSE(fs::exists(path));
    ASSERT_EQ(swept.lost.size(), 1u);
    EXPECT_EQ(swept.lost[0].path, Lost("000007.blocks"));
    EXPECT_EQ(swept.lost[0].bytes, size);
    EXPECT_EQ(swept.greatest, 7u) << "its number is not given again";
  }
  EXPECT_EQ(fs::status(LostPath()).permissions(), fs::perms::owner_all);
}

TEST_F(FileSweepTest, ALostFileTakesNobodysPlace) {
  for (int i = 0; i < 3; ++i) {
    Make(7);
    Sweep();
  }
  EXPECT_TRUE(fs::exists(Lost("000007.blocks")));
  EXPECT_TRUE(fs::exists(Lost("000007.blocks.2")));
  EXPECT_TRUE(fs::exists(Lost("000007.blocks.3")));
}

TEST_F(FileSweepTest, AnIncompleteFileIsRemoved) {
  for (const size_t left : {0, 10, 100}) {
    const std::string path = Make(7);
    ASSERT_LT(left, fs::file_size(path));
    fs::resize_file(path, left);
    EXPECT_TRUE(Sweep().lost.empty());
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST_F(FileSweepTest, AFileThatCannotBeReadStays) {
  const std::string path = Make(7);
  FaultEnv env;
  BlockFileShelf failing(&env, directory_, {});
  env.FailReads(true);
  const Result<FileSweep> swept = SweepFiles(&failing, directory_, record_);
  ASSERT_TRUE(swept);
  EXPECT_TRUE(swept->lost.empty());
  EXPECT_EQ(swept->greatest, 7u);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(FileSweepTest, AFileThatWasMergedOfWhatIsThereIsRemoved) {
  record_.files = {MakeFile(1, "r", 100)};
  const FileSource source{FileSource::Kind::kFile, 1, record_.files[0]->info().checksum};
  const BlockFilePtr file = MakeFile(7, "r", 100, 7, {source});
  EXPECT_TRUE(Sweep().lost.empty());
  EXPECT_FALSE(fs::exists(file->path()));
}

TEST_F(FileSweepTest, ACopyOfWhatIsThereGoesToLost) {
  record_.files = {MakeFile(1, "r", 100)};
  fs::copy_file(record_.files[0]->path(), shelf().PathOf(7));
  EXPECT_EQ(Sweep().lost.size(), 1u);
  EXPECT_TRUE(fs::exists(record_.files[0]->path()));
}

TEST_F(FileSweepTest, ADroppedFileIsRemoved) {
  const BlockFilePtr file = MakeFile(7, "r", 100);
  record_.dropped = {{6, 6}, {7, file->info().checksum}};
  EXPECT_TRUE(Sweep().lost.empty());
  EXPECT_FALSE(fs::exists(file->path()));
}

TEST_F(FileSweepTest, AnotherFileThanTheOneThatWasDroppedGoesToLost) {
  const BlockFilePtr file = MakeFile(7, "r", 100);
  record_.dropped = {{7, file->info().checksum + 1}};
  EXPECT_EQ(Sweep().lost.size(), 1u);
}

TEST_F(FileSweepTest, WhereWhatBaseNamesIsMissingADroppedFileGoesToLost) {
  const BlockFilePtr dropped = MakeFile(7, "r", 100);
  record_.dropped = {{7, dropped->info().checksum}};
  record_.files = {MakeFile(8, "r", 100)};
  fs::remove(record_.files[0]->path());
  EXPECT_EQ(Sweep().lost.size(), 1u);
}

TEST_F(FileSweepTest, AMissingFileAndOneOfAnotherSizeAreDamaged) {
  record_.files = {MakeFile(1, "r", 100), MakeFile(2, "r", 100), MakeFile(9, "r", 100)};
  fs::resize_file(record_.files[1]->path(), 100);
  fs::remove(record_.files[2]->path());
  EXPECT_EQ(Sweep().greatest, 9u);
  const std::vector<DamagedFile> damaged = shelf().damaged().All();
  ASSERT_EQ(damaged.size(), 2u);
  EXPECT_EQ(damaged[0].path, record_.files[1]->path());
  EXPECT_EQ(damaged[1].path, record_.files[2]->path());
  EXPECT_TRUE(fs::exists(record_.files[1]->path()));
}

TEST_F(FileSweepTest, OtherNamesAreLeftAlone) {
  for (const char* name : {"7.blocks", "000007.blocks.old", "notes"}) {
    Put(directory_ + "/" + name);
    EXPECT_TRUE(Sweep().lost.empty());
    EXPECT_TRUE(fs::exists(directory_ + "/" + name));
  }
}

}  // namespace
}  // namespace tallyd

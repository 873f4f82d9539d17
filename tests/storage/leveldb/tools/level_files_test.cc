// A LevelDB's files tell what they can, one by one, and where they cannot.
#include "storage/leveldb/tools/level_files.h"

#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <filesystem>
#include <fstream>

#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

using Records = std::map<std::string, std::string>;

class LevelFilesTest : public ::testing::Test {
 protected:
  // A table file of k1..k3, and a log that changes k2, removes k3 and adds k4.
  void SetUp() override {
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = &env_;
    for (const bool again : {false, true}) {
      leveldb::DB* opened = nullptr;
      ASSERT_TRUE(leveldb::DB::Open(options, path_, &opened).ok());
      const std::unique_ptr<leveldb::DB> db(opened);
      leveldb::WriteOptions sync;
      sync.sync = true;
      for (const char* key : {"k1", "k2", "k3"}) {
        ASSERT_TRUE(again || db->Put(sync, key, "old").ok());
      }
      if (!again) continue;
      ASSERT_TRUE(db->Put(sync, "k2", "new").ok());
      ASSERT_TRUE(db->Delete(sync, "k3").ok());
      ASSERT_TRUE(db->Put(sync, "k4", "new").ok());
    }
  }

  LevelRecords Read() {
    findings_.clear();
    return ReadLevel(&env_, path_, Sync::kAlways, &findings_);
  }
  std::string FileOf(const std::string& suffix) const {
    for (const auto& [name, bytes] : FilesBelow(path_)) {
      if (name.ends_with(suffix)) return path_ + "/" + name;
    }
    return {};
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/level";
  DurableEnv env_{{[](double) {}, [] {}}};
  std::vector<Finding> findings_;
};

const Records kAll{{"k1", "old"}, {"k2", "new"}, {"k4", "new"}};

TEST_F(LevelFilesTest, AWholeOneIsRead) {
  const LevelRecords level = Read();
  EXPECT_TRUE(level.whole);
  EXPECT_EQ(level.records, kAll);
  EXPECT_TRUE(findings_.empty());
}

TEST_F(LevelFilesTest, WithoutAManifestTheLaterChangeWins) {
  std::filesystem::remove(path_ + "/CURRENT");
  const LevelRecords level = Read();
  EXPECT_FALSE(level.whole);
  EXPECT_EQ(level.records, kAll);
  EXPECT_EQ(findings_.size(), 1u);
}

TEST_F(LevelFilesTest, ADamagedTableLeavesWhatTheLogHas) {
  std::fstream(FileOf(".ldb"), std::ios::in | std::ios::out | std::ios::binary).write("XXXX", 4);
  const LevelRecords level = Read();
  EXPECT_FALSE(level.whole);
  EXPECT_EQ(level.records.at("k4"), "new");
  EXPECT_FALSE(findings_.empty());
}

TEST_F(LevelFilesTest, ADamagedRecordOfALogHidesNoLaterOne) {
  const std::string log = FileOf(".log");
  ASSERT_FALSE(log.empty());
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(10);
  file.write("X", 1);
  file.close();
  const LevelRecords level = Read();
  EXPECT_EQ(level.records.at("k2"), "old") << "its change is what is lost";
  EXPECT_FALSE(level.records.contains("k3"));
  EXPECT_EQ(level.records.at("k4"), "new");
}

}  // namespace
}  // namespace tallyd

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

// As a kill in the midst of a write leaves it.
TEST_F(LevelFilesTest, ATornRecordBeforeRoomHidesNothing) {
  leveldb::Options options;
  options.env = &env_;
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, path_, &opened).ok());
  ASSERT_TRUE(opened->Put({}, "k5", std::string(100'000, 'x')).ok());
  delete opened;
  std::filesystem::resize_file(FileOf(".log"), 32'768);
  std::filesystem::resize_file(FileOf(".log"), 200'000);
  const LevelRecords level = Read();
  EXPECT_TRUE(level.whole);
  EXPECT_EQ(level.records, kAll);
  EXPECT_TRUE(findings_.empty());
}

// Records come back from their file as they were written, or the file is refused.
using RecordList = std::vector<std::pair<std::string, std::string>>;

class RecordFileTest : public ::testing::Test {
 protected:
  void Write(const RecordList& records) {
    auto writer = RecordFileWriter::Create(&env_, path_);
    ASSERT_TRUE(writer);
    for (const auto& [key, value] : records) ASSERT_TRUE((*writer)->Add(key, value));
    ASSERT_TRUE((*writer)->Finish());
    bytes_ = (*writer)->bytes();
    checksum_ = (*writer)->checksum();
  }
  Status Read(RecordList* records) {
    return ReadRecordFile(&env_, path_, bytes_, checksum_,
                          [&](std::string_view key, std::string_view value) {
                            records->emplace_back(key, value);
                            return Status();
                          });
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/records";
  DurableEnv env_{{[](double) {}, [] {}}};
  uint64_t bytes_ = 0;
  uint64_t checksum_ = 0;
};

TEST_F(RecordFileTest, RecordsComeBack) {
  const RecordList written{
      {std::string("\0\1", 2), ""}, {"b", std::string(700'000, 'x')}, {"c", "3"}};
  Write(written);
  EXPECT_EQ(std::filesystem::file_size(path_), bytes_);
  RecordList read;
  ASSERT_TRUE(Read(&read));
  EXPECT_EQ(read, written);
}

TEST_F(RecordFileTest, NoRecordsAreAFileToo) {
  Write({});
  RecordList read;
  EXPECT_TRUE(Read(&read));
  EXPECT_TRUE(read.empty());
}

TEST_F(RecordFileTest, AnyOtherByteIsRefused) {
  Write({{"a", "1"}, {"b", "2"}});
  std::ifstream in(path_, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  RecordList read;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] ^= static_cast<char>(1 << bit);
      std::ofstream(path_, std::ios::binary) << damaged;
      EXPECT_FALSE(Read(&read)) << at;
    }
    std::ofstream(path_, std::ios::binary) << whole.substr(0, at);
    EXPECT_FALSE(Read(&read)) << at;
  }
}

TEST_F(RecordFileTest, AnotherFileOfRecordsIsRefused) {
  Write({{"a", "1"}});
  const uint64_t checksum = checksum_;
  Write({{"a", "2"}});
  checksum_ = checksum;
  RecordList read;
  EXPECT_FALSE(Read(&read));
}

TEST_F(RecordFileTest, AnErrorEndsTheReading) {
  Write({{"a", "1"}, {"b", "2"}});
  int seen = 0;
  const Status read =
      ReadRecordFile(&env_, path_, bytes_, checksum_, [&](std::string_view, std::string_view) {
        ++seen;
        return Status(Error(ErrorCode::kIo, "enough"));
      });
  EXPECT_FALSE(read);
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace tallyd

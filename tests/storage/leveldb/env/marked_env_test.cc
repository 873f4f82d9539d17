#include "storage/leveldb/env/marked_env.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class MarkedEnvTest : public ::testing::Test {
 protected:
  MarkedEnvTest() { Restart(); }

  void Restart() { env_ = std::make_unique<MarkedEnv>(&disk_, base()); }
  std::string base() const { return dir_.path(); }

  std::unique_ptr<leveldb::WritableFile> Make(const std::string& name) {
    leveldb::WritableFile* file = nullptr;
    EXPECT_TRUE(env_->NewWritableFile(base() + "/" + name, &file).ok());
    return std::unique_ptr<leveldb::WritableFile>(file);
  }
  // A file of that many bytes, synced.
  void Write(const std::string& name, size_t bytes) {
    const auto file = Make(name);
    ASSERT_TRUE(file->Append(std::string(bytes, 'x')).ok());
    ASSERT_TRUE(file->Sync().ok());
  }
  SyncedNotes Notes() { return *SyncedNotes::Read(&disk_, base()); }
  uint64_t BytesOfLog(uint64_t number) { return Notes().BytesOf(&SyncedNote::log, number); }
  uint64_t BytesOfManifest(uint64_t number) {
    return Notes().BytesOf(&SyncedNote::manifest, number);
  }
  void FlipByte(uint64_t at) {
    std::fstream file(base() + "/SYNCED", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
  }

  TempDir dir_;
  FaultEnv disk_;
  std::unique_ptr<MarkedEnv> env_;
};

TEST_F(MarkedEnvTest, OnlyWhatWasSyncedIsNoted) {
  const auto log = Make("000003.log");
  ASSERT_TRUE(log->Append("hello").ok());
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_FALSE(Notes().known());
  ASSERT_TRUE(log->Sync().ok());
  ASSERT_TRUE(log->Append(" world").ok());
  EXPECT_EQ(BytesOfLog(3), 5u);
  ASSERT_TRUE(log->Sync().ok());
  EXPECT_EQ(BytesOfLog(3), 11u);
  EXPECT_EQ(BytesOfManifest(3), 0u);
}

TEST_F(MarkedEnvTest, OtherFilesLeaveNoNote) {
  Write("000003.ldb", 10);
  Write("000003.log.cut", 10);
  Write("MANIFEST-000002.cut", 10);
  EXPECT_FALSE(Notes().known());
}

TEST_F(MarkedEnvTest, ANoteTellsOfLogAndManifestAndSurvivesARestart) {
  Write("MANIFEST-000002", 20);
  Write("000003.log", 10);
  Restart();
  Write("MANIFEST-000004", 40);
  EXPECT_EQ(BytesOfLog(3), 10u);
  EXPECT_EQ(BytesOfManifest(4), 40u);
  EXPECT_EQ(BytesOfManifest(2), 20u) << "by the note before";
}

TEST_F(MarkedEnvTest, WhereTheLastNoteIsDamagedTheOneBeforeTells) {
  const auto log = Make("000003.log");
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(log->Append("12345").ok());
    ASSERT_TRUE(log->Sync().ok());
  }
  EXPECT_FALSE(Notes().damaged);
  FlipByte(512);  // Odd generations have the second place.
  EXPECT_TRUE(Notes().damaged);
  EXPECT_EQ(BytesOfLog(3), 10u);
  FlipByte(0);
  EXPECT_FALSE(Notes().known());
  EXPECT_TRUE(Notes().damaged);
}

TEST_F(MarkedEnvTest, ACutFileIsDamaged) {
  Write("000003.log", 10);
  for (const size_t left : {559, 512, 100, 0}) {
    std::filesystem::resize_file(base() + "/SYNCED", left);
    EXPECT_TRUE(Notes().damaged) << left;
    EXPECT_FALSE(Notes().known()) << left;
  }
}

// LevelDB gives a number twice where an open failed.
TEST_F(MarkedEnvTest, AFileThatBeginsAnewHasNothingSynced) {
  Write("MANIFEST-000002", 20);
  Write("MANIFEST-000004", 40);
  Make("MANIFEST-000002");
  EXPECT_EQ(BytesOfManifest(2), 0u);
  EXPECT_EQ(BytesOfManifest(4), 40u);
  Make("MANIFEST-000004");
  EXPECT_EQ(BytesOfManifest(4), 0u);
}

TEST_F(MarkedEnvTest, ASyncThatCannotBeNotedFails) {
  const auto log = Make("000003.log");
  ASSERT_TRUE(log->Append("x").ok());
  disk_.FailAt(disk_.calls() + 2, Fault::kNoSpace, false);
  EXPECT_FALSE(log->Sync().ok());
  EXPECT_TRUE(log->Sync().ok());
  EXPECT_EQ(BytesOfLog(3), 1u);
}

// While nobody had it open somebody may have put another directory in its place.
TEST_F(MarkedEnvTest, ADatabaseThatIsOpenedAgainHasItsNotesReadAnew) {
  const std::string head = base() + "/head";
  const std::string aside = base() + "/aside";
  std::filesystem::create_directory(head);
  Write("head/000003.log", 10);
  std::filesystem::rename(head, aside);
  std::filesystem::create_directory(head);
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env_->LockFile(head + "/LOCK", &lock).ok());
  Write("head/000005.log", 30);
  const SyncedNotes notes = *SyncedNotes::Read(&disk_, head);
  EXPECT_EQ(notes.BytesOf(&SyncedNote::log, 5), 30u);
  EXPECT_EQ(notes.BytesOf(&SyncedNote::log, 3), 0u);
  EXPECT_EQ(SyncedNotes::Read(&disk_, aside)->BytesOf(&SyncedNote::log, 3), 10u);
  env_->UnlockFile(lock);
}

TEST_F(MarkedEnvTest, InBaseANoteIsThereAfterAPowerCutAndElsewhereNotAlways) {
  Write("000003.log", 10);
  const std::string head = base() + "/head";
  ASSERT_TRUE(disk_.CreateDir(head).ok());
  Write("head/MANIFEST-000002", 20);
  Write("head/000003.log", 10);
  disk_.LosePower(Loss::kAll, 1);
  EXPECT_EQ(BytesOfLog(3), 10u);
  const SyncedNotes of_head = *SyncedNotes::Read(&disk_, head);
  EXPECT_EQ(of_head.BytesOf(&SyncedNote::manifest, 2), 20u);
  EXPECT_EQ(of_head.BytesOf(&SyncedNote::log, 3), 0u);
}

TEST(SyncedNoteTest, ItsBytesAreFixed) {
  std::string hex;
  for (const char c : EncodeSyncedNote({7, {3, 0x1234}, {2, 0x56}})) {
    hex += fmt::format("{:02x}", c & 0xff);
  }
  EXPECT_EQ(hex,
            "0000000000000007000000000000000300000000000012340000000000000002"
            "0000000000000056038a782a527cef63");
}

}  // namespace
}  // namespace tallyd

// A manifest is read back as it was written, or not at all; a directory has one user at a time.
#include "storage/leveldb/tools/backup_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

BackupManifest SomeManifest() {
  BackupManifest manifest;
  manifest.store = "0123456789abcdef";
  manifest.made = 1'700'000'000'000'000;
  manifest.last_sequence = 77;
  manifest.moment = 3;
  manifest.records = {{kBaseRecords, 100, 0xfedcba9876543210}, {HeadRecordsName(7), 20, 5}};
  manifest.blocks = {{42, 4096, 0x8000000000000001}};
  return manifest;
}

TEST(BackupManifestTest, ItIsReadBack) {
  const Result<BackupManifest> read = DecodeManifest(EncodeManifest(SomeManifest()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(EncodeManifest(*read), EncodeManifest(SomeManifest()));
  EXPECT_EQ(read->records[0].checksum, 0xfedcba9876543210);
  EXPECT_EQ(read->bytes(), 4216u);
  EXPECT_EQ(read->opening, 0u) << "as an older tallyd wrote it";
  BackupManifest noted = SomeManifest();
  noted.opening = 0xfedcba9876543210;
  noted.openings = 5;
  EXPECT_EQ(DecodeManifest(EncodeManifest(noted))->opening, noted.opening);
  EXPECT_EQ(DecodeManifest(EncodeManifest(noted))->openings, 5u);
}

TEST(BackupManifestTest, AnyOtherByteIsRefused) {
  const std::string text = EncodeManifest(SomeManifest());
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_FALSE(DecodeManifest(damaged)) << at;
    EXPECT_FALSE(DecodeManifest(text.substr(0, at))) << at;
  }
}

TEST(BackupManifestTest, ANameThatLeadsElsewhereIsRefused) {
  for (const char* name : {"../base.records", "/etc/passwd", "", ".hidden"}) {
    BackupManifest manifest = SomeManifest();
    manifest.records[0].name = name;
    EXPECT_FALSE(DecodeManifest(EncodeManifest(manifest))) << name;
  }
}

TEST(BackupManifestTest, NamesTellTheirNumbers) {
  EXPECT_EQ(HeadOfRecords(HeadRecordsName(1'234'567)), 1'234'567u);
  EXPECT_EQ(HeadOfRecords(kBaseRecords), 0u);
  EXPECT_EQ(BlocksName({42, 0, 0xabc}), "000042-0000000000000abc.blocks");
}

class BackupDirectoryTest : public ::testing::Test {
 protected:
  TempDir dir_;
  const std::string to_ = dir_.path() + "/backup";
  DurableEnv env_{{[](double) {}, [] {}}};
};

TEST_F(BackupDirectoryTest, OneBackupIsMadeInItAtATime) {
  BackupDirectory first(&env_);
  ASSERT_TRUE(first.Take(to_, "id"));
  BackupDirectory second(&env_);
  const Status taken = second.Take(to_, "id");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
}

TEST_F(BackupDirectoryTest, LeavingRemovesWhatWasMade) {
  BackupDirectory directory(&env_);
  ASSERT_TRUE(directory.Take(to_, "id"));
  std::filesystem::create_directory(to_ + "/blocks");
  std::ofstream(to_ + "/blocks/000001-0000000000000001.blocks") << "half";
  directory.Leave();
  EXPECT_FALSE(std::filesystem::exists(to_));
}

TEST_F(BackupDirectoryTest, WhatLiesBehindALinkStays) {
  const std::string data = dir_.path() + "/data";
  std::filesystem::create_directory(data);
  std::ofstream(data + "/000001.blocks") << "of the store";
  for (const std::string name : {"/blocks", "/moment-000007"}) {
    {
      BackupDirectory directory(&env_);
      ASSERT_TRUE(directory.Take(to_, "id"));
    }
    std::filesystem::create_directory_symlink(data, to_ + name);
    BackupDirectory again(&env_);
    const Status taken = again.Take(to_, "id");
    ASSERT_FALSE(taken) << name;
    EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
    EXPECT_NE(taken.error().message().find(to_ + name), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(data + "/000001.blocks"));
    EXPECT_TRUE(std::filesystem::exists(to_ + "/STORE")) << "it was there before";
    std::filesystem::remove(to_ + name);
  }
}

TEST_F(BackupDirectoryTest, ADirectoryThatCannotBeTakenIsNotLeftBehind) {
  class FullEnv final : public StoreEnv {
   public:
    explicit FullEnv(StoreEnv* env) : StoreEnv(env), env_(env) {}
    leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile**) override {
      return leveldb::Status::IOError(name, "No space left on device");
    }
    leveldb::Status SyncDirectory(const std::string& directory) override {
      return env_->SyncDirectory(directory);
    }
    leveldb::Status NewPlacesFile(const std::string& name,
                                  std::unique_ptr<PlacesFile>* file) override {
      return env_->NewPlacesFile(name, file);
    }

   private:
    StoreEnv* const env_;
  };
  FullEnv full(&env_);
  BackupDirectory directory(&full);
  const Status taken = directory.Take(to_, "id");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kNoSpace);
  EXPECT_FALSE(std::filesystem::exists(to_));
}

// Renames, and then says that it did not; or does not. Or cannot sync names.
class RenamesEnv final : public StoreEnv {
 public:
  explicit RenamesEnv(StoreEnv* env) : StoreEnv(env), env_(env) {}
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override {
    if (!fails_once) return env_->RenameFile(from, to);
    fails_once = false;
    if (renames) env_->RenameFile(from, to).ok();
    return leveldb::Status::IOError(to, "Input/output error");
  }
  leveldb::Status SyncDirectory(const std::string& directory) override {
    if (fails_syncs) return leveldb::Status::IOError(directory, "Input/output error");
    return env_->SyncDirectory(directory);
  }
  leveldb::Status NewPlacesFile(const std::string& name,
                                std::unique_ptr<PlacesFile>* file) override {
    return env_->NewPlacesFile(name, file);
  }

  bool fails_once = false;
  bool renames = false;
  bool fails_syncs = false;

 private:
  StoreEnv* const env_;
};

class HalfDoneTest : public BackupDirectoryTest {
 protected:
  HalfDoneTest() { Make(1); }

  static BackupManifest Moment(uint64_t moment) {
    BackupManifest manifest = SomeManifest();
    manifest.store = "id";
    manifest.moment = moment;
    manifest.blocks = {{moment, 4, moment}};
    return manifest;
  }
  // Whether it says that it is complete.
  bool Make(uint64_t moment) {
    BackupDirectory directory(&renames_);
    EXPECT_TRUE(directory.Take(to_, "id"));
    std::filesystem::create_directories(to_ + "/" + MomentName(moment));
    std::ofstream(to_ + "/" + MomentName(moment) + "/base.records") << "records";
    std::filesystem::create_directories(to_ + "/blocks");
    std::ofstream(to_ + "/blocks/" + BlocksName({moment, 4, moment})) << "data";
    renames_.fails_once = fails_rename_;
    renames_.fails_syncs = fails_syncs_;
    const Status completed = directory.Complete(Moment(moment));
    if (!completed) directory.Leave();
    renames_.fails_once = renames_.fails_syncs = false;
    return completed.has_value();
  }
  bool Has(uint64_t moment) const {
    return std::filesystem::exists(to_ + "/" + MomentName(moment) + "/base.records") &&
           std::filesystem::exists(to_ + "/blocks/" + BlocksName({moment, 4, moment}));
  }
  uint64_t MomentOnDisk() const {
    std::ifstream in(to_ + "/BACKUP");
    return DecodeManifest(std::string(std::istreambuf_iterator<char>(in), {})).value().moment;
  }

  RenamesEnv renames_{&env_};
  bool fails_rename_ = false;
  bool fails_syncs_ = false;
};

TEST_F(HalfDoneTest, WhatWasNotRenamedLeavesTheOneBefore) {
  fails_rename_ = true;
  EXPECT_FALSE(Make(2));
  EXPECT_EQ(MomentOnDisk(), 1u);
  EXPECT_TRUE(Has(1));
  EXPECT_FALSE(std::filesystem::exists(to_ + "/" + MomentName(2)));
}

TEST_F(HalfDoneTest, WhatWasRenamedAndIsSyncedAfterAllIsComplete) {
  fails_rename_ = renames_.renames = true;
  EXPECT_TRUE(Make(2));
  EXPECT_EQ(MomentOnDisk(), 2u);
  EXPECT_TRUE(Has(2));
  EXPECT_FALSE(Has(1));
}

TEST_F(HalfDoneTest, WhereEitherManifestMayCountTheFilesOfBothStay) {
  fails_syncs_ = true;
  EXPECT_FALSE(Make(2));
  EXPECT_TRUE(Has(1));
  EXPECT_TRUE(Has(2));
  EXPECT_EQ(MomentOnDisk(), 2u);
  renames_.fails_syncs = true;
  {
    BackupDirectory uncertain(&renames_);
    EXPECT_FALSE(uncertain.Take(to_, "id")) << "after a power cut it may be the one before";
  }
  EXPECT_TRUE(Has(1));
  EXPECT_TRUE(Has(2));
  renames_.fails_syncs = false;
  BackupDirectory certain(&renames_);
  EXPECT_TRUE(certain.Take(to_, "id"));
  EXPECT_FALSE(Has(1));
  EXPECT_TRUE(Has(2));
}

TEST_F(BackupDirectoryTest, TheRootOfAVolumeIsEmpty) {
  std::filesystem::create_directories(to_ + "/lost+found");
  BackupDirectory directory(&env_);
  EXPECT_TRUE(directory.Take(to_, "id"));
  EXPECT_TRUE(std::filesystem::exists(to_ + "/lost+found"));
}

TEST_F(BackupDirectoryTest, WhatLiesBelowIsToldByWhereLinksLead) {
  const std::string below = dir_.path() + "/backups";
  std::filesystem::create_directories(below + "/of-one");
  std::filesystem::create_directory_symlink(dir_.path(), below + "/out");
  EXPECT_TRUE(CheckBackupIsBelow(below + "/a", below));
  EXPECT_TRUE(CheckBackupIsBelow(below + "/of-one/a", below));
  for (const std::string& to :
       {below, dir_.path() + "/backups-2", dir_.path() + "/a", below + "/out/a", below + "/../a",
        below + "/none/a", std::string("a")}) {
    const Status checked = CheckBackupIsBelow(to, below);
    ASSERT_FALSE(checked) << to;
    EXPECT_EQ(checked.error().code(), ErrorCode::kInvalid) << to;
  }
}

TEST_F(BackupDirectoryTest, APathWithControlBytesIsNone) {
  for (const char byte : {'\0', '\n', '\x1f', '\x7f'}) {
    const Status fits = CheckBackupPlace(to_ + byte + "x", dir_.path() + "/data");
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(CheckBackupPlace(to_ + "\xc3\xa9", dir_.path() + "/data"));
}

TEST_F(BackupDirectoryTest, ADirectoryWithADamagedManifestIsNotTaken) {
  {
    BackupDirectory directory(&env_);
    ASSERT_TRUE(directory.Take(to_, "id"));
    ASSERT_TRUE(directory.Complete(SomeManifest()));
  }
  std::ofstream(to_ + "/BACKUP", std::ios::app) << "x";
  BackupDirectory again(&env_);
  EXPECT_FALSE(again.Take(to_, "id")) << "what it names would be cleared as rubbish";
}

TEST_F(BackupDirectoryTest, ABackupOfAnotherStoreUnderThisOnesMarkIsNotTaken) {
  {
    BackupDirectory directory(&env_);
    ASSERT_TRUE(directory.Take(to_, "id"));
    ASSERT_TRUE(directory.Complete(SomeManifest()));
  }
  BackupDirectory again(&env_);
  const Status taken = again.Take(to_, "id");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
}

}  // namespace
}  // namespace tallyd

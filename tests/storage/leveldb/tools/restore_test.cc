// A restore takes only a sound backup, only into an empty directory, and is there whole or not.
#include "storage/leveldb/tools/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <thread>

#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

using testing::HasSubstr;

class RestoreTest : public ::testing::Test, public SmallStore {
 protected:
  void SetUp() override {
    Make();
    Reopen();
    ASSERT_TRUE(store().Backup(from_ = path() + "/backup", stop_));
    Close();
    files_ = FilesBelow(from_);
    target_ = config();
    target_.path = path() + "/target";
  }

  Result<RestoreReport> Restore(bool even_damaged = false) {
    ToolProgress progress;
    return RestoreBackup({from_, target_, even_damaged, &progress});
  }

  const std::atomic<bool> stop_{false};
  std::string from_;
  std::map<std::string, std::string> files_;
  StorageConfig target_;
  ToolProgress other_;
};

TEST_F(RestoreTest, ANonEmptyTargetIsRefused) {
  std::filesystem::create_directory(target_.path);
  std::ofstream(target_.path + "/note") << "mine";
  const Result<RestoreReport> report = Restore();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(FilesBelow(target_.path).size(), 1u);
}

TEST_F(RestoreTest, AnEmptyTargetIsTaken) {
  std::filesystem::create_directory(target_.path);
  const Result<RestoreReport> report = Restore();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->sound());
  EXPECT_EQ(report->files.linked, report->backup.manifest.blocks.size());
  EXPECT_FALSE(std::filesystem::exists(target_.path + "/restoring"));
}

// The manifest is a pipe: who opens it for writing finds the restore reading it.
TEST_F(RestoreTest, WhileTheBackupIsReadNobodyElseGetsTheTarget) {
  for (const bool sound : {false, true}) {
    std::filesystem::remove(from_ + "/BACKUP");
    ASSERT_EQ(::mkfifo((from_ + "/BACKUP").c_str(), 0600), 0);
    std::optional<Result<RestoreReport>> report;
    std::thread restoring([&] { report = Restore(); });
    std::ofstream manifest(from_ + "/BACKUP");
    config().path = target_.path;
    EXPECT_FALSE(TryOpen()) << "a daemon that starts meanwhile";
    const Result<RestoreReport> other = RestoreBackup({path() + "/none", target_, false, &other_});
    EXPECT_THAT(other ? "" : other.error().message(), HasSubstr("in use"));
    EXPECT_TRUE(std::filesystem::exists(target_.path + "/restoring")) << "a kill is seen";
    manifest << (sound ? files_["BACKUP"] : "nonsense");
    manifest.close();
    restoring.join();
    ASSERT_EQ(report->has_value(), sound);
    EXPECT_FALSE(std::filesystem::exists(target_.path + "/restoring"));
  }
  Open();
  ASSERT_TRUE(Adopt(SchemaOf()));
  EXPECT_EQ(Read("H"), history);
}

// A flipped bit anywhere: found before anything is written.
TEST_F(RestoreTest, ADamagedBackupIsRefusedAndTheFileNamed) {
  size_t flips = 0;
  for (const auto& [name, bytes] : files_) {
    if (name.ends_with('/') || name == "STORE") continue;
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 40, ++flips) {
      auto damaged = files_;
      damaged[name][at] ^= static_cast<char>(1 << at % 8);
      WriteFiles(damaged, from_);
      const Result<RestoreReport> report = Restore();
      if (report) {
        ASSERT_FALSE(report->sound()) << name << " " << at;
        const std::string file = report->backup.findings.front().file;
        EXPECT_TRUE(name.ends_with(std::filesystem::path(file).filename().string())) << file;
      } else {
        EXPECT_EQ(name, "BACKUP") << report.error().message();
        EXPECT_THAT(report.error().message(), HasSubstr("manifest"));
      }
      ASSERT_FALSE(std::filesystem::exists(target_.path));
    }
  }
  EXPECT_GT(flips, 150u);
}

TEST_F(RestoreTest, ABackupThatLacksAFileIsRefused) {
  for (const auto& [name, bytes] : files_) {
    if (name.ends_with('/') || name == "STORE") continue;
    for (const bool cut : {false, true}) {
      auto damaged = files_;
      if (cut) {
        damaged[name].pop_back();
      } else {
        damaged.erase(name);
      }
      WriteFiles(damaged, from_);
      const Result<RestoreReport> report = Restore();
      EXPECT_FALSE(report && report->sound()) << name;
      EXPECT_FALSE(std::filesystem::exists(target_.path)) << name;
    }
  }
}

TEST_F(RestoreTest, WhatIsLeftOfADamagedBackupIsRestoredWhenAskedFor) {
  std::vector<std::string> blocks;
  for (const auto& [name, bytes] : files_) {
    if (name.ends_with(".blocks")) blocks.push_back(name);
  }
  ASSERT_GT(blocks.size(), 2u);
  files_.erase(blocks[0]);
  files_[blocks[1]][20] ^= 1;
  WriteFiles(files_, from_);
  const Result<RestoreReport> report = Restore(true);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->restored);
  EXPECT_FALSE(report->sound());
  EXPECT_EQ(report->backup.findings.size(), 2u);
  EXPECT_EQ(report->store.findings.size(), 2u);
  config().path = target_.path;
  Open();
  ASSERT_TRUE(Adopt(SchemaOf()));
  EXPECT_EQ(Read("L"), latest);
  EXPECT_FALSE(TryRead("H")) << "what is missing is told";
}

TEST_F(RestoreTest, WithoutItsRecordsABackupIsNone) {
  for (auto& [name, bytes] : files_) {
    if (name.ends_with("base.records")) bytes[30] ^= 1;
  }
  WriteFiles(files_, from_);
  const Result<RestoreReport> report = Restore(true);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->restored);
  EXPECT_FALSE(std::filesystem::exists(target_.path));
}

TEST_F(RestoreTest, WhereThereIsNoBackupItSaysSo) {
  from_ = path() + "/nowhere";
  const Result<RestoreReport> report = Restore();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tallyd

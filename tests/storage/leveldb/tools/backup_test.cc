// A backup is the store at one moment; the earlier one is there until the next is complete.
#include "storage/leveldb/tools/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "storage/leveldb/tools/backup_directory.h"
#include "storage/leveldb/tools/restore.h"
#include "tests/storage/leveldb/old_block_files.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

using testing::HasSubstr;

class BackupTest : public ::testing::Test, public SmallStore {
 protected:
  std::string To(const std::string& name = "backup") const { return path() + "/" + name; }

  // By the names of its numbers.
  std::map<std::string, uint64_t> MustBackUp(const std::string& to) {
    const Result<StoreMember::Members> report = store().Backup(to, stop_);
    std::map<std::string, uint64_t> numbers;
    if (!report) ADD_FAILURE() << report.error().message();
    for (const StoreMember& member : report ? *report : StoreMember::Members()) {
      const auto* number = std::get_if<uint64_t>(&member.value);
      if (number != nullptr) numbers[member.name] = *number;
    }
    return numbers;
  }
  ErrorCode RefusalOf(const std::string& to) {
    const Result<StoreMember::Members> report = store().Backup(to, stop_);
    EXPECT_FALSE(report);
    return report ? ErrorCode::kOverloaded : report.error().code();
  }
  std::vector<std::string> NamesIn(const std::string& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  BackupManifest ManifestOf(const std::string& directory) const {
    std::ifstream in(directory + "/BACKUP");
    return *DecodeManifest(std::string(std::istreambuf_iterator<char>(in), {}));
  }

  // The store that a backup makes.
  void OpenRestored(const std::string& from) {
    StorageConfig config = this->config();
    config.path = path() + "/restored";
    restored_.reset();  // It would go on writing there.
    std::filesystem::remove_all(config.path);
    ToolProgress progress;
    const Result<RestoreReport> report = RestoreBackup({from, config, false, &progress});
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding& finding : report->backup.findings) ADD_FAILURE() << finding.problem;
    for (const Finding& finding : report->store.findings) ADD_FAILURE() << finding.problem;
    restored_ = std::make_unique<StoreHarness>();
    restored_->config() = config;
    restored_->Open();
    ASSERT_TRUE(restored_->Adopt(SchemaOf()));
  }

  std::atomic<bool> stop_{false};
  std::unique_ptr<StoreHarness> restored_;
};

TEST_F(BackupTest, WhatWasThereIsRestored) {
  Make();
  Reopen();
  auto report = MustBackUp(To());
  EXPECT_GT(report["files"], 2u);
  EXPECT_EQ(report["linked"], report["files"]);
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), history);
  EXPECT_EQ(restored_->Read("L"), latest);
  ASSERT_TRUE(restored_->Write("H", "later", 5000, {{"A", "value", Value::Int(1)}}));
  ASSERT_TRUE(restored_->store().Settle());
  restored_->Reopen();
  EXPECT_EQ(restored_->Read("H").size(), history.size() + 1);
  EXPECT_EQ(Read("H"), history) << "the store itself goes on as it was";
}

TEST_F(BackupTest, TheNextOneTakesOnlyWhatIsNew) {
  Make();
  Reopen();
  auto first = MustBackUp(To());
  WriteEvent("m9", 99'999, 7);
  ASSERT_TRUE(store().Settle());
  auto second = MustBackUp(To());
  EXPECT_GT(second["kept"], 0u);
  EXPECT_GT(second["linked"], 0u);
  EXPECT_GT(second["last_sequence"], first["last_sequence"]);
  EXPECT_EQ(ManifestOf(To()).blocks.size(), NamesIn(To() + "/blocks").size());
  EXPECT_THAT(NamesIn(To()),
              testing::UnorderedElementsAre("BACKUP", "STORE", "blocks", MomentName(2)));
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), Read("H"));
}

TEST_F(BackupTest, WhatAnInterruptedOneLeftIsCleared) {
  Make();
  Reopen();
  MustBackUp(To());
  std::filesystem::create_directory(To() + "/" + MomentName(7));
  std::ofstream(To() + "/blocks/000099-0123456789abcdef.blocks") << "half";
  std::ofstream(To() + "/" + MomentName(7) + "/base.records") << "half";
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), history) << "the complete one stands beside it";
  MustBackUp(To());
  EXPECT_THAT(NamesIn(To()),
              testing::UnorderedElementsAre("BACKUP", "STORE", "blocks", MomentName(2)));
  EXPECT_THAT(NamesIn(To() + "/blocks"), testing::Not(testing::Contains(HasSubstr("000099"))));
}

TEST_F(BackupTest, AnInterruptedFirstOneIsTakenUpAgain) {
  Make();
  Reopen();
  MustBackUp(To());
  std::filesystem::remove(To() + "/BACKUP");
  StorageConfig elsewhere = config();
  elsewhere.path += "-2";
  ToolProgress progress;
  const Result<RestoreReport> restored = RestoreBackup({To(), elsewhere, false, &progress});
  ASSERT_FALSE(restored) << "it is no backup";
  EXPECT_EQ(restored.error().code(), ErrorCode::kNotFound);
  MustBackUp(To());
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), history);
}

// Its files are all that is left of it: they go when another one is complete.
TEST_F(BackupTest, WhatIsLeftOfABackupWithoutItsManifestStaysUntilTheNextIsComplete) {
  Make();
  Reopen();
  MustBackUp(To());
  const auto whole = FilesBelow(To());
  std::filesystem::remove(To() + "/BACKUP");
  auto left = whole;
  left.erase("BACKUP");
  stop_ = true;
  EXPECT_EQ(RefusalOf(To()), ErrorCode::kCancelled);
  EXPECT_EQ(FilesBelow(To()), left);
  WriteFiles(whole, To());
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), history);
  std::filesystem::remove(To() + "/BACKUP");
  stop_ = false;
  EXPECT_GT(MustBackUp(To())["kept"], 0u);
  EXPECT_THAT(NamesIn(To()),
              testing::UnorderedElementsAre("BACKUP", "STORE", "blocks", MomentName(2)));
}

TEST_F(BackupTest, NoOtherDirectoryIsTaken) {
  Make();
  Reopen();
  EXPECT_EQ(RefusalOf("backup"), ErrorCode::kInvalid);
  EXPECT_EQ(RefusalOf(path() + "/x/../backup"), ErrorCode::kInvalid);
  EXPECT_EQ(RefusalOf(path() + "/none/backup"), ErrorCode::kInvalid);
  EXPECT_EQ(RefusalOf(config().path), ErrorCode::kInvalid);
  EXPECT_EQ(RefusalOf(config().path + "/backup"), ErrorCode::kInvalid);
  EXPECT_EQ(RefusalOf(path()), ErrorCode::kInvalid) << "the data lies in it";
  std::filesystem::create_directory(To("other"));
  std::ofstream(To("other") + "/blocks") << "precious";
  EXPECT_EQ(RefusalOf(To("other")), ErrorCode::kConflict);
  EXPECT_EQ(RefusalOf(To("other") + "/blocks"), ErrorCode::kConflict);
  std::filesystem::create_directory_symlink(To("other"), To("link"));
  EXPECT_EQ(RefusalOf(To("link")), ErrorCode::kConflict);
  EXPECT_THAT(NamesIn(To("other")), testing::ElementsAre("blocks"));
}

TEST_F(BackupTest, ABackupOfAnotherStoreIsNotTouched) {
  Make();
  Reopen();
  StoreHarness other;
  other.Open();
  ASSERT_TRUE(other.Adopt(SchemaOf()));
  ASSERT_TRUE(other.store().Backup(To(), stop_));
  const auto before = FilesBelow(To());
  EXPECT_EQ(RefusalOf(To()), ErrorCode::kConflict);
  EXPECT_EQ(FilesBelow(To()), before);
}

TEST_F(BackupTest, AnEmptyDirectoryIsTaken) {
  Make();
  Reopen();
  std::filesystem::create_directory(To());
  MustBackUp(To());
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("L"), latest);
}

// As somebody leaves it who needs room: the bytes are to be in the backup.
TEST_F(BackupTest, WhatIsBehindASymbolicLinkIsInTheBackup) {
  Make();
  const std::string blocks = config().path + "/blocks/";
  const std::string name = NamesIn(blocks).front();
  std::filesystem::rename(blocks + name, path() + "/bulk");
  for (const bool relative : {true, false}) {
    std::filesystem::remove(blocks + name);
    std::filesystem::create_symlink(relative ? "../../bulk" : path() + "/bulk", blocks + name);
    if (!std::filesystem::exists(blocks + name)) continue;  // The store lies elsewhere.
    Reopen();
    const std::string to = To(relative ? "relative" : "absolute");
    MustBackUp(to);
    for (const std::string& made : NamesIn(to + "/blocks")) {
      EXPECT_FALSE(std::filesystem::is_symlink(to + "/blocks/" + made));
    }
    OpenRestored(to);
    EXPECT_EQ(restored_->Read("H"), history);
    Close();
  }
}

TEST_F(BackupTest, ASymbolicLinkInTheBackupGivesWayToTheFile) {
  Make();
  Reopen();
  MustBackUp(To());
  const std::string made = To() + "/blocks/" + NamesIn(To() + "/blocks").front();
  std::filesystem::rename(made, path() + "/bulk");
  std::filesystem::create_symlink(path() + "/bulk", made);
  MustBackUp(To());
  EXPECT_FALSE(std::filesystem::is_symlink(made));
}

// One damaged file does not end all backups.
TEST_F(BackupTest, WhatLacksAFileIsKeptBesideTheOneInPlace) {
  Make();
  Reopen();
  MustBackUp(To());
  const auto in_place = FilesBelow(To());
  WriteEvent("m9", 99'999, 7);
  ASSERT_TRUE(store().Settle());
  Close();
  const std::vector<std::string> names = NamesIn(config().path + "/blocks");
  const std::string newest = *std::max_element(names.begin(), names.end());
  const std::string file = config().path + "/blocks/" + newest;
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  Reopen();
  const Result<StoreMember::Members> report = store().Backup(To(), stop_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(report.error().message(), HasSubstr(newest));
  EXPECT_THAT(report.error().message(), HasSubstr(To() + ".incomplete"));
  EXPECT_EQ(FilesBelow(To()), in_place);
  StorageConfig elsewhere = config();
  elsewhere.path += "-2";
  ToolProgress progress;
  const std::string incomplete = To() + ".incomplete";
  const Result<RestoreReport> refused = RestoreBackup({incomplete, elsewhere, false, &progress});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->restored);
  ASSERT_EQ(refused->backup.findings.size(), 1u);
  EXPECT_TRUE(RestoreBackup({incomplete, elsewhere, true, &progress})->restored);
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), history);
}

TEST_F(BackupTest, AFirstOneThatLacksAFileIsNotInPlaceEither) {
  Make();
  const std::string name = NamesIn(config().path + "/blocks").front();
  std::filesystem::remove(config().path + "/blocks/" + name);
  Reopen();
  EXPECT_EQ(RefusalOf(To()), ErrorCode::kCorruption);
  EXPECT_EQ(Gauge("tallyd_backup_last_success_timestamp_seconds"), 0);
  EXPECT_FALSE(std::filesystem::exists(To()));
  EXPECT_TRUE(std::filesystem::exists(To() + ".incomplete/BACKUP"));
}

// What lacks in the store the incomplete one may have, and the one in place something else.
TEST_F(BackupTest, WhatAnIncompleteOneHasIsNotLost) {
  Make();
  Reopen();
  WriteEvent("m9", 99'999, 7);
  ASSERT_TRUE(store().Settle());
  Close();
  std::vector<std::string> names = NamesIn(config().path + "/blocks");
  std::sort(names.begin(), names.end());
  const std::string first = config().path + "/blocks/" + names.front();
  const std::string last = config().path + "/blocks/" + names.back();
  std::filesystem::rename(first, path() + "/first");
  Reopen();
  EXPECT_EQ(RefusalOf(To()), ErrorCode::kCorruption);
  Close();
  std::filesystem::rename(path() + "/first", first);
  std::filesystem::remove(last);
  Reopen();
  MustBackUp(To());
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H").size(), history.size() + 1);
}

// Base, heads and files were put back from a copy.
TEST_F(BackupTest, AnOlderOneIsKeptBesideTheOneInPlace) {
  Make();
  const auto before = FilesBelow(config().path);
  Reopen();
  WriteEvent("m9", 99'999, 7);
  const Rows later = Read("H");
  MustBackUp(To());
  const auto in_place = FilesBelow(To());
  Close();
  WriteFiles(before, config().path);
  Reopen();
  const Result<StoreMember::Members> report = store().Backup(To(), stop_);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr(To() + ".older"));
  EXPECT_EQ(FilesBelow(To()), in_place);
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), later);
  OpenRestored(To() + ".older");
  EXPECT_EQ(restored_->Read("H"), history);
}

// By its number of changes it is the later one.
TEST_F(BackupTest, WhatAStoreThatWasPutBackWentOnToIsKeptBesideTheOneInPlace) {
  Make();
  const auto before = FilesBelow(config().path);
  Reopen();
  WriteEvent("m9", 99'999, 7);
  const Rows later = Read("H");
  MustBackUp(To());
  MustBackUp(To());
  Reopen();
  MustBackUp(To());
  const auto in_place = FilesBelow(To());
  Close();
  WriteFiles(before, config().path);
  Reopen();
  for (TimeUs time = 0; time < 5; ++time) WriteEvent("m8", 88'888 + time, 8);
  for (int i = 0; i < 2; ++i) {
    const Result<StoreMember::Members> report = store().Backup(To(), stop_);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr(To() + ".older"));
    EXPECT_EQ(FilesBelow(To()), in_place);
  }
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), later);
  OpenRestored(To() + ".older");
  EXPECT_EQ(restored_->Read("H"), Read("H"));
}

// Of the same number, size and times, and of other values.
TEST_F(BackupTest, NoFileOfALostTimeLineIsKept) {
  Make();
  const auto before = FilesBelow(config().path);
  Reopen();
  WriteEvent("m9", 99'999, 1);
  ASSERT_TRUE(store().Settle());
  MustBackUp(To());
  Close();
  WriteFiles(before, config().path);
  Reopen();
  WriteEvent("m9", 99'999, 2);
  ASSERT_TRUE(store().Settle());
  std::filesystem::remove(To() + "/BACKUP");  // Nobody needs it.
  MustBackUp(To());
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), Read("H"));
}

// Which do not say what their blocks are.
TEST_F(BackupTest, NoFileOfFormat8OfALostTimeLineIsKept) {
  Make();
  const auto before = FilesBelow(config().path);
  const auto write = [&](int64_t value) {
    Reopen();
    WriteEvent("m9", 99'999, value);
    ASSERT_TRUE(store().Settle());
    Close();
    RewriteFilesAsFormat8(config().path);
    Reopen();
  };
  write(1);
  MustBackUp(To());
  Close();
  WriteFiles(before, config().path);
  write(2);
  std::filesystem::remove(To() + "/BACKUP");
  MustBackUp(To());
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), Read("H"));
}

TEST_F(BackupTest, BelowTheDirectoryThatIsSetAndNowhereElse) {
  Make();
  config().backup_dir = path() + "/backups";
  Reopen();
  EXPECT_EQ(RefusalOf(To("backups/a")), ErrorCode::kIo) << "it must be there";
  std::filesystem::create_directory(config().backup_dir);
  EXPECT_EQ(RefusalOf(To()), ErrorCode::kInvalid);
  EXPECT_EQ(RefusalOf(To("backups")), ErrorCode::kInvalid);
  EXPECT_FALSE(std::filesystem::exists(To()));
  MustBackUp(To("backups/a"));
}

TEST_F(BackupTest, WhatTheEarlierOneHasIsWholeAlsoWhenTheStoresIsDamaged) {
  Make();
  Reopen();
  MustBackUp(To());
  const std::string file = config().path + "/blocks/" + NamesIn(config().path + "/blocks").front();
  std::filesystem::remove(file);  // Both names are one file.
  std::ofstream(file) << "nonsense";
  EXPECT_GT(MustBackUp(To())["kept"], 0u);
  OpenRestored(To());
  EXPECT_EQ(restored_->Read("H"), history);
}

TEST_F(BackupTest, WhereNothingCanBeLinkedItIsCopied) {
  Make();
  Reopen();
  std::string elsewhere = std::filesystem::temp_directory_path() / "tallyd-backup-XXXXXX";
  ASSERT_NE(::mkdtemp(elsewhere.data()), nullptr);
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(::stat(path().c_str(), &here), 0);
  ASSERT_EQ(::stat(elsewhere.c_str(), &there), 0);
  auto report = MustBackUp(elsewhere + "/b");
  EXPECT_EQ(here.st_dev == there.st_dev ? report["linked"] : report["copied"], report["files"]);
  OpenRestored(elsewhere + "/b");
  EXPECT_EQ(restored_->Read("H"), history);
  std::filesystem::remove_all(elsewhere);
}

TEST_F(BackupTest, WhatIsStoppedLeavesNothing) {
  Make();
  Reopen();
  stop_ = true;
  EXPECT_EQ(RefusalOf(To()), ErrorCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(To()));
}

// Each batch writes its number to rows of its own and to two latest rows.
TEST_F(BackupTest, UnderLoadItIsOneMomentBetweenBeginAndEnd) {
  config().write_buffer = 8u << 10;
  config().seal_window_us = 1000;
  config().seal_cpu = 1;
  Open();
  ASSERT_TRUE(Adopt(SchemaOf()));
  std::atomic<int> next{0};
  std::atomic<int> acknowledged{0};  // All up to it.
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      const int number = next++;
      auto batch = NewBatch();
      const auto value = [&] { return Value::Int(number); };
      for (const char* row : {"a", "b", "c"}) {
        const std::string key = std::string(row) + std::to_string(number % 50);
        Put(batch.get(), "H", key, number, {{"A", "n", value()}}, number % 3 > 0);
      }
      for (const char* row : {"x", "y"}) Put(batch.get(), "L", row, number, {{"A", "n", value()}});
      if (number % 40 == 39) {
        DeleteSpec what;
        what.rows = OneRow("a0");
        what.cells = {0, number};
        Delete(batch.get(), "H", what);
      }
      if (Commit(std::move(batch))) acknowledged = number;
    }
  });
  for (int round = 0; round < 12; ++round) {
    const int least = acknowledged + 200 * (round == 0);
    while (acknowledged < least) std::this_thread::yield();
    const int before = acknowledged;
    MustBackUp(To());
    const int after = next;
    OpenRestored(To());
    if (HasFatalFailure()) break;
    std::map<int, int> rows_of;
    int newest = -1;
    for (const auto& [row, cells] : restored_->Read("H")) {
      for (const auto& [cell, text] : cells) {
        ++rows_of[std::stoi(text)];
        newest = std::max(newest, std::stoi(text));
      }
    }
    EXPECT_GE(newest, before) << "what was acknowledged is there";
    EXPECT_LT(newest, after);
    const int deleted_below = (newest + 1) / 40 * 40 - 1;
    for (int number = 0; number <= newest; ++number) {
      const bool deleted = number % 50 == 0 && number < deleted_below;
      EXPECT_EQ(rows_of[number], deleted ? 2 : 3) << "batch " << number << " of " << newest;
    }
    const std::string text = std::to_string(newest);
    for (const auto& [row, cells] : restored_->Read("L")) {
      EXPECT_EQ(cells, (Cells{{"A:n@" + text, text}})) << row << " follows from the history";
    }
    if (HasFailure()) break;
  }
  done = true;
  writer.join();
}

}  // namespace
}  // namespace tallyd

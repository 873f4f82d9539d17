#include "storage/leveldb/env/durable_env.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdarg>
#include <memory>

#include "tests/storage/fault_calls.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

void Tell(leveldb::Logger* logger, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

class DurableEnvTest : public ::testing::Test {
 protected:
  DurableEnvTest() : env_({[this](double) { ++syncs_; }, [this] { ++stalls_; }}) {}

  std::unique_ptr<leveldb::WritableFile> Make(const std::string& name) {
    leveldb::WritableFile* file = nullptr;
    EXPECT_TRUE(env_.NewWritableFile(name, &file).ok());
    return std::unique_ptr<leveldb::WritableFile>(file);
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  static unsigned ModeOf(const std::string& path) {
    struct stat stat {};
    EXPECT_EQ(::stat(path.c_str(), &stat), 0);
    return stat.st_mode & 0777;
  }

  TempDir dir_;
  std::atomic<int> syncs_{0};
  std::atomic<int> stalls_{0};
  DurableEnv env_;
};

TEST_F(DurableEnvTest, ANewLogsNameIsSynced) {
  Make(Path("000001.ldb"));
  EXPECT_EQ(syncs_, 0);
  Make(Path("000002.log"));
  EXPECT_EQ(syncs_, 1);
}

TEST_F(DurableEnvTest, APartOfAFileIsWrittenOver) {
  const std::string name = Path("f");
  std::unique_ptr<PlacesFile> file;
  ASSERT_TRUE(env_.NewPlacesFile(name, &file).ok());
  ASSERT_TRUE(file->WriteAt(2, "cd", false).ok());
  EXPECT_EQ(syncs_, 0);
  ASSERT_TRUE(env_.NewPlacesFile(name, &file).ok());
  ASSERT_TRUE(file->WriteAt(0, "abX", true).ok());
  EXPECT_EQ(syncs_, 1);
  std::string bytes;
  ASSERT_TRUE(leveldb::ReadFileToString(&env_, name, &bytes).ok());
  EXPECT_EQ(bytes, "abXd");
  EXPECT_EQ(ModeOf(name), 0600u);
}

TEST_F(DurableEnvTest, RenamesAndRemovalsAreSynced) {
  Make(Path("CURRENT.tmp"));
  ASSERT_TRUE(env_.RenameFile(Path("CURRENT.tmp"), Path("CURRENT")).ok());
  EXPECT_EQ(syncs_, 1);
  Make(Path("MANIFEST-000001"));
  ASSERT_TRUE(env_.RemoveFile(Path("MANIFEST-000001")).ok());
  EXPECT_EQ(syncs_, 2);
}

TEST_F(DurableEnvTest, FilesAreForTheirOwnerOnly) {
  Make(Path("000001.ldb"));
  EXPECT_EQ(ModeOf(Path("000001.ldb")), 0600u);
  ASSERT_TRUE(env_.CreateDir(Path("db")).ok());
  EXPECT_EQ(ModeOf(Path("db")), 0700u);
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env_.LockFile(Path("LOCK"), &lock).ok());
  EXPECT_EQ(ModeOf(Path("LOCK")), 0600u);
  env_.UnlockFile(lock);
}

TEST_F(DurableEnvTest, AFileWhoseWriteFailedTakesNothingMore) {
  auto file = Make("/dev/full");
  ASSERT_TRUE(file->Append("fits the buffer").ok());
  EXPECT_FALSE(file->Flush().ok());
  EXPECT_FALSE(file->Append("x").ok());
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_FALSE(file->Close().ok());
}

TEST_F(DurableEnvTest, StallsAreCounted) {
  env_.SleepForMicroseconds(1);
  leveldb::Logger* opened = nullptr;
  ASSERT_TRUE(env_.NewLogger(Path("LOG"), &opened).ok());
  const std::unique_ptr<leveldb::Logger> logger(opened);
  Tell(logger.get(), "Compacting");
  EXPECT_EQ(stalls_, 1);
  Tell(logger.get(), "Too many L0 files; waiting...");
  EXPECT_EQ(stalls_, 2);
}

TEST_F(DurableEnvTest, ReadsPastTheEndComeShort) {
  auto file = Make(Path("f"));
  ASSERT_TRUE(file->Append("hello").ok());
  ASSERT_TRUE(file->Close().ok());
  leveldb::RandomAccessFile* opened = nullptr;
  ASSERT_TRUE(env_.NewRandomAccessFile(Path("f"), &opened).ok());
  const std::unique_ptr<leveldb::RandomAccessFile> reader(opened);
  char scratch[16];
  leveldb::Slice read;
  ASSERT_TRUE(reader->Read(3, sizeof scratch, &read, scratch).ok());
  EXPECT_EQ(read.ToString(), "lo");
  EXPECT_TRUE(env_.NewRandomAccessFile(Path("absent"), &opened).IsNotFound());
}

class FailingCallsTest : public DurableEnvTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(env_.LockFile(Path("LOCK"), &lock_).ok());
    auto file = Make(Path("000002.dbtmp"));
    ASSERT_TRUE(file->Append("MANIFEST-000002\n").ok());
    ASSERT_TRUE(file->Close().ok());
  }
  void TearDown() override {
    if (lock_ != nullptr) env_.UnlockFile(lock_);
  }
  leveldb::Status Rename() { return env_.RenameFile(Path("000002.dbtmp"), Path("CURRENT")); }
  void OpenAnew() {
    ASSERT_TRUE(env_.UnlockFile(std::exchange(lock_, nullptr)).ok());
    ASSERT_TRUE(env_.LockFile(Path("LOCK"), &lock_).ok());
  }

  leveldb::FileLock* lock_ = nullptr;
  FaultCalls calls_{dir_.path()};
};

TEST_F(FailingCallsTest, ARenameIsToldAsDoneWhereItsDirectoryCannotBeSynced) {
  const auto log = Make(Path("000001.log"));
  for (const FaultSense sense : {FaultSense::kUndone, FaultSense::kDone}) {
    calls_.Fail({.call = "sync", .sense = sense});
    ASSERT_TRUE(Rename().ok());
    ASSERT_TRUE(calls_.failed());
    EXPECT_TRUE(env_.FileExists(Path("CURRENT")));
    EXPECT_FALSE(env_.SyncDirectory(dir_.path()).ok());
    EXPECT_FALSE(env_.SyncDirectory(dir_.path()).ok()) << "until it is opened anew";
    ASSERT_NO_FATAL_FAILURE(OpenAnew());
    EXPECT_TRUE(env_.SyncDirectory(dir_.path()).ok());
    ASSERT_TRUE(env_.RenameFile(Path("CURRENT"), Path("000002.dbtmp")).ok());
  }
}

TEST_F(FailingCallsTest, NothingIsAcknowledgedInADirectoryThatCouldNotBeSynced) {
  const auto log = Make(Path("000001.log"));
  const auto manifest = Make(Path("MANIFEST-000002"));
  calls_.Fail({.call = "sync"});
  ASSERT_TRUE(Rename().ok());
  ASSERT_TRUE(log->Append("x").ok());
  EXPECT_FALSE(log->Sync().ok());
  ASSERT_TRUE(manifest->Append("x").ok());
  EXPECT_FALSE(manifest->Sync().ok());
  leveldb::WritableFile* next = nullptr;
  EXPECT_FALSE(env_.NewWritableFile(Path("000003.log"), &next).ok());
}

TEST_F(FailingCallsTest, ARenameThatIsSaidToHaveFailedAndWasMadeIsDone) {
  calls_.Fail({.call = "rename", .sense = FaultSense::kDone});
  EXPECT_TRUE(Rename().ok());
  EXPECT_TRUE(env_.FileExists(Path("CURRENT")));
  EXPECT_FALSE(env_.SyncDirectory(dir_.path()).ok());
  EXPECT_TRUE(Rename().IsNotFound());
}

TEST_F(FailingCallsTest, ARenameThatWasNotMadeFails) {
  calls_.Fail({.call = "rename"});
  EXPECT_FALSE(Rename().ok());
  EXPECT_FALSE(env_.FileExists(Path("CURRENT")));
  EXPECT_TRUE(env_.SyncDirectory(dir_.path()).ok());
  EXPECT_TRUE(Rename().ok());
}

TEST_F(FailingCallsTest, NoLackOfDescriptorsKeepsADatabasesDirectoryFromBeingSynced) {
  calls_.Fail({.call = "open", .error = EMFILE, .until_healed = true});
  EXPECT_TRUE(Rename().ok());
  EXPECT_TRUE(env_.SyncDirectory(dir_.path()).ok());
}

TEST_F(FailingCallsTest, TheManifestThatCurrentNamesStays) {
  Make(Path("MANIFEST-000002"));
  Make(Path("MANIFEST-000001"));
  ASSERT_TRUE(Rename().ok());
  EXPECT_FALSE(env_.RemoveFile(Path("MANIFEST-000002")).ok());
  calls_.Fail({.call = "open", .path = "CURRENT"});
  EXPECT_FALSE(env_.RemoveFile(Path("MANIFEST-000001")).ok()) << "it may be that one";
  EXPECT_TRUE(env_.RemoveFile(Path("MANIFEST-000001")).ok());
}

TEST_F(FailingCallsTest, NoByteOfAManifestIsWrittenBeforeTheNamesInItAreDurable) {
  const auto manifest = Make(Path("MANIFEST-000002"));
  calls_.TakeCalls();
  ASSERT_TRUE(manifest->Append("x").ok());
  ASSERT_TRUE(manifest->Flush().ok());
  EXPECT_TRUE(calls_.TakeCalls().empty());
  ASSERT_TRUE(manifest->Append(std::string(100'000, 'x')).ok());
  ASSERT_TRUE(manifest->Sync().ok());
  bool synced = false;
  for (const MadeCall& made : calls_.TakeCalls()) {
    if (made.call == "sync" && made.path.empty()) synced = true;
    EXPECT_TRUE(synced || made.call != "write");
  }
}

TEST_F(FailingCallsTest, ShortReadsAreNotTheEndOfAFile) {
  calls_.LimitTransfers(7);
  auto file = Make(Path("f"));
  const std::string text(1000, 'x');
  ASSERT_TRUE(file->Append(text).ok());
  ASSERT_TRUE(file->Close().ok());
  leveldb::SequentialFile* opened = nullptr;
  ASSERT_TRUE(env_.NewSequentialFile(Path("f"), &opened).ok());
  const std::unique_ptr<leveldb::SequentialFile> reader(opened);
  char scratch[600];
  leveldb::Slice read;
  ASSERT_TRUE(reader->Read(sizeof scratch, &read, scratch).ok());
  EXPECT_EQ(read.size(), sizeof scratch);
  ASSERT_TRUE(reader->Read(sizeof scratch, &read, scratch).ok());
  EXPECT_EQ(read.size(), text.size() - sizeof scratch);
  calls_.Fail({.call = "read"});
  EXPECT_FALSE(reader->Read(1, &read, scratch).ok());
}

TEST_F(FailingCallsTest, ALogThatWasRemovedIsNotSynced) {
  const auto log = Make(Path("000001.log"));
  ASSERT_TRUE(log->Append("x").ok());
  ASSERT_TRUE(log->Sync().ok());
  ASSERT_TRUE(env_.RemoveFile(Path("000001.log")).ok());
  ASSERT_TRUE(log->Append("y").ok());
  EXPECT_FALSE(log->Sync().ok());
}

}  // namespace
}  // namespace tallyd

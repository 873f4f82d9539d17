#include "storage/leveldb/env/durable_env.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdarg>
#include <memory>

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

}  // namespace
}  // namespace tallyd

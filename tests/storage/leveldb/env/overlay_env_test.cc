// What is done through an OverlayEnv is seen through it, and nowhere else.
#include "storage/leveldb/env/overlay_env.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/file_lock.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

using testing::UnorderedElementsAre;

class OverlayEnvTest : public ::testing::Test {
 protected:
  OverlayEnvTest() {
    std::filesystem::create_directory(Path("d"));
    std::ofstream(Path("d/a")) << "first";
    std::ofstream(Path("d/b")) << "second";
    before_ = FilesBelow(dir_.path());
  }
  ~OverlayEnvTest() override { EXPECT_EQ(FilesBelow(dir_.path()), before_); }

  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  std::string Read(const std::string& name) {
    std::string bytes;
    const leveldb::Status read = leveldb::ReadFileToString(&env_, Path(name), &bytes);
    return read.ok() ? bytes : read.ToString().substr(0, 8);
  }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(leveldb::WriteStringToFile(&env_, bytes, Path(name)).ok());
  }
  std::vector<std::string> List(const std::string& name) {
    std::vector<std::string> names;
    EXPECT_TRUE(env_.GetChildren(Path(name), &names).ok());
    std::erase(names, ".");
    std::erase(names, "..");
    return names;
  }

  TempDir dir_;
  std::map<std::string, std::string> before_;
  DurableEnv durable_{{[](double) {}, [] {}}};
  OverlayEnv env_{&durable_};
};

TEST_F(OverlayEnvTest, ReadsWhatTheDiskHas) {
  EXPECT_EQ(Read("d/a"), "first");
  EXPECT_TRUE(env_.FileExists(Path("d/a")));
  EXPECT_FALSE(env_.FileExists(Path("d/c")));
  EXPECT_EQ(Read("d/c"), "NotFound");
}

TEST_F(OverlayEnvTest, AWrittenFileIsReadBack) {
  Write("d/c", "third");
  Write("d/a", "again");
  EXPECT_EQ(Read("d/c"), "third");
  EXPECT_EQ(Read("d/a"), "again");
  uint64_t size = 0;
  EXPECT_TRUE(env_.GetFileSize(Path("d/c"), &size).ok());
  EXPECT_EQ(size, 5u);
  leveldb::RandomAccessFile* file = nullptr;
  ASSERT_TRUE(env_.NewRandomAccessFile(Path("d/c"), &file).ok());
  const std::unique_ptr<leveldb::RandomAccessFile> owned(file);
  char scratch[8];
  leveldb::Slice read;
  ASSERT_TRUE(file->Read(2, 8, &read, scratch).ok());
  EXPECT_EQ(read.ToString(), "ird");
  EXPECT_THAT(List("d"), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(OverlayEnvTest, ARemovedFileIsGone) {
  EXPECT_TRUE(env_.RemoveFile(Path("d/a")).ok());
  EXPECT_EQ(Read("d/a"), "NotFound");
  EXPECT_THAT(List("d"), UnorderedElementsAre("b"));
  EXPECT_TRUE(env_.RemoveFile(Path("d/a")).IsNotFound());
}

TEST_F(OverlayEnvTest, ARenamedFileHasItsBytesUnderTheOtherName) {
  EXPECT_TRUE(env_.RenameFile(Path("d/a"), Path("d/b")).ok());
  EXPECT_EQ(Read("d/b"), "first");
  EXPECT_EQ(Read("d/a"), "NotFound");
  Write("d/c", "third");
  EXPECT_TRUE(env_.RenameFile(Path("d/c"), Path("d/a")).ok());
  EXPECT_EQ(Read("d/a"), "third");
  EXPECT_TRUE(env_.RenameFile(Path("d/c"), Path("d/x")).IsNotFound());
  EXPECT_THAT(List("d"), UnorderedElementsAre("a", "b"));
}

TEST_F(OverlayEnvTest, ADirectoryIsMadeAndRemoved) {
  EXPECT_TRUE(env_.CreateDir(Path("e")).ok());
  EXPECT_FALSE(env_.CreateDir(Path("d")).ok());
  Write("e/a", "inside");
  EXPECT_THAT(List("e"), UnorderedElementsAre("a"));
  EXPECT_THAT(List("."), testing::Not(testing::Contains("a")));
  EXPECT_TRUE(env_.RemoveFile(Path("e/a")).ok());
  EXPECT_TRUE(env_.RemoveDir(Path("e")).ok());
  EXPECT_FALSE(env_.FileExists(Path("e")));
}

TEST_F(OverlayEnvTest, OnceFrozenItTakesNoByte) {
  leveldb::WritableFile* file = nullptr;
  ASSERT_TRUE(env_.NewWritableFile(Path("d/c"), &file).ok());
  const std::unique_ptr<leveldb::WritableFile> owned(file);
  env_.Freeze();
  EXPECT_FALSE(file->Append("late").ok());
  EXPECT_FALSE(env_.NewWritableFile(Path("d/x"), &file).ok());
  EXPECT_EQ(Read("d/c"), "");
}

// What a child process finds: its own locks are none of the parent's.
int InAnotherProcess(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(OverlayEnvTest, ALockedStoreIsInUse) {
  std::ofstream(Path("LOCK")) << "";
  before_ = FilesBelow(dir_.path());
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(leveldb::Env::Default()->LockFile(Path("LOCK"), &lock).ok());
  EXPECT_EQ(0, InAnotherProcess([&] {
              const Status locked = env_.Lock(dir_.path());
              return !locked && locked.error().code() == ErrorCode::kConflict;
            }));
  leveldb::Env::Default()->UnlockFile(lock);
  EXPECT_TRUE(env_.Lock(dir_.path()));
  EXPECT_EQ(0, InAnotherProcess([&] {
              leveldb::FileLock* other = nullptr;
              return !leveldb::Env::Default()->LockFile(Path("LOCK"), &other).ok();
            }))
      << "while one looks at it, no daemon opens it";
}

TEST_F(OverlayEnvTest, AStoreThatThisProcessHasIsInUseToo) {
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(TakeFileLock(Path("LOCK"), &lock).ok());
  before_ = FilesBelow(dir_.path());
  for (int i = 0; i < 2; ++i) {  // To be refused does not drop it.
    const Status locked = env_.Lock(dir_.path());
    ASSERT_FALSE(locked);
    EXPECT_EQ(locked.error().code(), ErrorCode::kConflict);
  }
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
  EXPECT_TRUE(env_.Lock(dir_.path()));
}

TEST_F(OverlayEnvTest, WhereNoProcessLockedAStoreNoFileIsMade) {
  EXPECT_TRUE(env_.Lock(dir_.path()));
}

}  // namespace
}  // namespace tallyd

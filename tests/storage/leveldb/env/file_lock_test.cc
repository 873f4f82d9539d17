#include "storage/leveldb/env/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/leveldb/env/status.h"
#include "tests/storage/fault_calls.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class FileLockTest : public ::testing::Test {
 protected:
  void SetUp() override { ::close(::open(name_.c_str(), O_WRONLY | O_CREAT, 0600)); }
  ErrorCode CodeOfTaking() {
    leveldb::FileLock* lock = nullptr;
    const Status taken = FromLevelDb(TakeFileLock(name_, &lock));
    EXPECT_EQ(lock, nullptr);
    return taken.error().code();
  }
  // Whether another process finds it locked.
  bool IsLocked() const {
    const pid_t child = ::fork();
    if (child == 0) {
      const int descriptor = ::open(name_.c_str(), O_RDWR);
      struct flock whole {};
      whole.l_type = F_WRLCK;
      ::_exit(descriptor >= 0 && ::fcntl(descriptor, F_SETLK, &whole) == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  }

  TempDir dir_;
  const std::string name_ = dir_.path() + "/LOCK";
};

TEST_F(FileLockTest, ItIsHeldUntilItIsReleased) {
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(TakeFileLock(name_, &lock).ok());
  EXPECT_EQ(NameOfLock(*lock), name_);
  EXPECT_TRUE(IsLocked());
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
  EXPECT_FALSE(IsLocked());
}

TEST_F(FileLockTest, WhoeverIsRefusedInTheSameProcessDoesNotDropIt) {
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(TakeFileLock(name_, &lock).ok());
  EXPECT_EQ(CodeOfTaking(), ErrorCode::kConflict);
  EXPECT_TRUE(IsLocked());
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
  ASSERT_TRUE(TakeFileLock(name_, &lock).ok());
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
}

TEST_F(FileLockTest, ItHoldsInTheSameProcessUnderAnyOtherName) {
  const std::string link = dir_.path() + "/other";
  ASSERT_EQ(::link(name_.c_str(), link.c_str()), 0);
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(TakeFileLock(name_, &lock).ok());
  leveldb::FileLock* other = nullptr;
  const Status taken = FromLevelDb(TakeFileLock(link, &other));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(IsLocked());
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
  ASSERT_TRUE(TakeFileLock(link, &other).ok());
  EXPECT_TRUE(ReleaseFileLock(other).ok());
}

TEST_F(FileLockTest, WhoOnlyReadsTheFileDoesNotDropIt) {
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(TakeFileLock(name_, &lock).ok());
  ::close(::open(name_.c_str(), O_RDONLY));
  EXPECT_TRUE(IsLocked());
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
}

TEST_F(FileLockTest, AFailureIsNoConflict) {
  FaultCalls calls(dir_.path());
  for (const char* call : {"open", "lock"}) {
    for (const FaultSense sense : {FaultSense::kUndone, FaultSense::kDone}) {
      calls.Fail({.call = call, .sense = sense});
      EXPECT_EQ(CodeOfTaking(), ErrorCode::kIo) << call;
      EXPECT_FALSE(IsLocked()) << call;
    }
  }
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(TakeFileLock(name_, &lock).ok());
  EXPECT_TRUE(ReleaseFileLock(lock).ok());
}

}  // namespace
}  // namespace tallyd

#include "storage/leveldb/env/durable_env.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdarg>
#include <memory>
#include <set>

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

TEST_F(DurableEnvTest, ALogIsSyncedWhenItIsClosed) {
  auto log = Make(Path("000002.log"));
  syncs_ = 0;
  ASSERT_TRUE(log->Append("x").ok());
  log.reset();
  EXPECT_EQ(syncs_, 1);
  EXPECT_EQ(std::filesystem::file_size(Path("000002.log")), 1u);
}

TEST_F(DurableEnvTest, ALogGrowsOnceForManySmallSyncs) {
  const std::string name = Path("000002.log");
  auto log = Make(name);
  std::string written;
  std::set<uintmax_t> sizes;
  for (int i = 0; i < 100; ++i) {
    const std::string some(1000, static_cast<char>('a' + i % 26));
    written += some;
    ASSERT_TRUE(log->Append(some).ok());
    ASSERT_TRUE(log->Sync().ok());
    std::string bytes;
    ASSERT_TRUE(leveldb::ReadFileToString(&env_, name, &bytes).ok());
    sizes.insert(bytes.size());
    ASSERT_GE(bytes.size(), written.size());
    ASSERT_EQ(bytes, written + std::string(bytes.size() - written.size(), '\0'));
  }
  EXPECT_LT(sizes.size(), 10u);
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(std::filesystem::file_size(name), written.size());
}

TEST_F(DurableEnvTest, OnlySmallSyncsOfLogsMakeRoom) {
  const auto size_of = [&](const std::string& name, size_t bytes) {
    const auto file = Make(Path(name));
    EXPECT_TRUE(file->Append(std::string(bytes, 'x')).ok());
    EXPECT_TRUE(file->Sync().ok());
    return std::filesystem::file_size(Path(name));
  };
  EXPECT_GT(size_of("000001.log", 1000), 1000u);
  EXPECT_GT(size_of("000002.log", 96u << 10), 96u << 10);
  EXPECT_EQ(size_of("000004.log", (96u << 10) + 1), (96u << 10) + 1);
  EXPECT_EQ(size_of("000003.ldb", 1000), 1000u);
  EXPECT_EQ(size_of("MANIFEST-000001", 1000), 1000u);
}

TEST_F(DurableEnvTest, RoomIsBounded) {
  const auto log = Make(Path("000002.log"));
  constexpr uintmax_t kSynced = 96u << 10;
  ASSERT_TRUE(log->Append(std::string(kSynced, 'x')).ok());
  ASSERT_TRUE(log->Sync().ok());
  const uintmax_t room = std::filesystem::file_size(Path("000002.log")) - kSynced;
  EXPECT_EQ(room, 16 * kSynced);
}

TEST_F(DurableEnvTest, ALogThatWasExpectedHasItsRoomFromTheStart) {
  constexpr uintmax_t kMiB = 1u << 20;
  const std::string name = Path("000002.log");
  env_.ExpectLog(dir_.path(), {7 * kMiB, std::chrono::hours(1)});
  auto log = Make(name);
  EXPECT_EQ(std::filesystem::file_size(name), 6 * kMiB) << "as far as whole slices go";
  const std::string written(3 * kMiB, 'x');
  ASSERT_TRUE(log->Append(written).ok());
  ASSERT_TRUE(log->Sync().ok());
  std::string bytes;
  ASSERT_TRUE(leveldb::ReadFileToString(&env_, name, &bytes).ok());
  EXPECT_EQ(bytes, written + std::string(3 * kMiB, '\0'));
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(std::filesystem::file_size(name), written.size());
  Make(Path("000003.log"));
  EXPECT_EQ(std::filesystem::file_size(Path("000003.log")), 0u) << "this one was not";
}

TEST_F(DurableEnvTest, RoomThatTakesTooLongIsNotMade) {
  env_.ExpectLog(dir_.path(), {100u << 20, std::chrono::seconds(0)});
  const auto log = Make(Path("000002.log"));
  EXPECT_EQ(std::filesystem::file_size(Path("000002.log")), 0u);
  ASSERT_TRUE(log->Append("x").ok());
  EXPECT_TRUE(log->Sync().ok());
}

TEST_F(DurableEnvTest, WithoutSpaceALogThatWasExpectedHasWhatRoomThereIs) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  env_.ExpectLog(dir_.path(), {8u << 20, std::chrono::hours(1)});
  const struct rlimit limit { 3u << 20, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto log = Make(Path("000002.log"));
  const leveldb::Status appended = log->Append("x");
  const leveldb::Status synced = log->Sync();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(appended.ok() && synced.ok()) << synced.ToString();
  EXPECT_EQ(std::filesystem::file_size(Path("000002.log")), 3u << 20);
  std::signal(SIGXFSZ, handler);
}

// As a full disk: at once, or in the midst of the room.
TEST_F(DurableEnvTest, WithoutSpaceForRoomALogIsSynced) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t space : {0u, 1000u}) {
    const std::string directory = Path(std::to_string(space));
    ASSERT_TRUE(env_.CreateDir(directory).ok());
    const auto log = Make(directory + "/000002.log");
    ASSERT_TRUE(log->Append(std::string(5000, 'x')).ok());
    const struct rlimit limit { 5000 + space, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const leveldb::Status first = log->Sync();
    log->Append(std::string(space / 2, 'y')).ok();
    const leveldb::Status within = log->Sync();
    log->Append(std::string(1000, 'z')).ok();
    const leveldb::Status beyond = log->Sync();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(first.ok()) << first.ToString();
    EXPECT_TRUE(within.ok()) << within.ToString();
    EXPECT_FALSE(beyond.ok());
  }
  std::signal(SIGXFSZ, handler);
}

// With sync = interval nothing else would tell of it.
TEST_F(DurableEnvTest, AFailedCloseFailsTheNextSyncOfALogBesideIt) {
  const std::string here = Path("here");
  const std::string elsewhere = Path("elsewhere");
  for (const std::string& directory : {here, elsewhere}) {
    ASSERT_TRUE(env_.CreateDir(directory).ok());
  }
  std::filesystem::create_symlink("/dev/full", here + "/000002.log");
  auto failing = Make(here + "/000002.log");
  ASSERT_TRUE(failing->Append("x").ok());
  failing.reset();  // As LevelDB lets go of a log.
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env_.LockFile(elsewhere + "/LOCK", &lock).ok());  // Another database is opened.
  env_.UnlockFile(lock);
  EXPECT_TRUE(Make(elsewhere + "/000003.log")->Sync().ok());
  EXPECT_FALSE(Make(here + "/000003.log")->Sync().ok());
  ASSERT_TRUE(env_.LockFile(here + "/LOCK", &lock).ok());  // It is read anew.
  env_.UnlockFile(lock);
  EXPECT_TRUE(Make(here + "/000004.log")->Sync().ok());
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

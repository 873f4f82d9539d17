// Logs, as DurableEnv makes them: through the page cache and past it.
#include "storage/leveldb/env/log_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "storage/leveldb/env/durable_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr uintmax_t kBlock = 4096;

// On a disk: a file system in memory takes direct writes, and makes no difference.
class LogFileTest : public ::testing::TestWithParam<LogWrites> {
 protected:
  void SetUp() override {
    if (GetParam() == LogWrites::kCached) return;
    const std::string name = Path("probe");
    alignas(kBlock) static const char block[kBlock] = {};
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_DIRECT, 0600);
    const bool takes_blocks = descriptor >= 0 && ::pwrite(descriptor, block, kBlock, 0) == kBlock;
    const bool takes_any = descriptor >= 0 && ::pwrite(descriptor, block + 1, 1, 1) == 1;
    if (descriptor >= 0) ::close(descriptor);
    std::filesystem::remove(name);
    if (!takes_blocks || takes_any) GTEST_SKIP() << "the file system has no direct writes";
  }
  std::unique_ptr<leveldb::WritableFile> Make(const std::string& name) {
    leveldb::WritableFile* file = nullptr;
    EXPECT_TRUE(env_.NewWritableFile(name, &file).ok());
    return std::unique_ptr<leveldb::WritableFile>(file);
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string Read(const std::string& name) {
    std::string bytes;
    EXPECT_TRUE(leveldb::ReadFileToString(&env_, name, &bytes).ok());
    return bytes;
  }
  // Whether this process has the file open for direct writes.
  static bool IsDirect(const std::string& name) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry, gone) != name) continue;
      return (::fcntl(std::stoi(entry.path().filename()), F_GETFL) & O_DIRECT) != 0;
    }
    return false;
  }
  // What a file of so many bytes takes that has no room.
  static uintmax_t Written(uintmax_t bytes) {
    return GetParam() == LogWrites::kDirect ? (bytes + kBlock - 1) / kBlock * kBlock : bytes;
  }

  const TempDir dir_{std::filesystem::temp_directory_path()};
  std::atomic<int> syncs_{0};
  DurableEnv env_{{[this](double) { ++syncs_; }, [] {}}, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Either, LogFileTest,
                         ::testing::Values(LogWrites::kCached, LogWrites::kDirect),
                         [](const auto& of) {
                           return of.param == LogWrites::kCached ? "Cached" : "Direct";
                         });

// From the beginning on, and in place of what a block had behind its end.
TEST_P(LogFileTest, WhatWasSyncedIsThereWhateverThePieces) {
  std::mt19937_64 random(3);
  const size_t sizes[] = {1, 7, 100, 4095, 4096, 4097, 32'768, 300'000, 1 << 20, (1 << 20) + 1};
  for (int round = 0; round < 8; ++round) {
    const std::string name = Path(std::to_string(round) + ".log");
    if (round % 2 == 1) env_.ExpectLog(dir_.path(), {4u << 20, std::chrono::hours(1)});
    const auto log = Make(name);
    std::string all;
    for (int i = 0; i < 60; ++i) {
      std::string some(random() % (sizes[random() % std::size(sizes)] + 1), '\0');
      for (char& c : some) c = static_cast<char>(random());
      all += some;
      ASSERT_TRUE(log->Append(some).ok());
      if (random() % 3 == 0) {
        ASSERT_TRUE(log->Flush().ok());
      }
      if (random() % 3 > 0) continue;
      ASSERT_TRUE(log->Sync().ok());
      const std::string bytes = Read(name);
      ASSERT_GE(bytes.size(), all.size());
      ASSERT_TRUE(bytes == all + std::string(bytes.size() - all.size(), '\0')) << all.size();
    }
    EXPECT_EQ(IsDirect(name), GetParam() == LogWrites::kDirect);
    ASSERT_TRUE(log->Close().ok());
    ASSERT_TRUE(Read(name) == all);
  }
}

TEST_P(LogFileTest, WhatWasFlushedOutlivesTheProcessIfItIsCached) {
  const auto log = Make(Path("000002.log"));
  ASSERT_TRUE(log->Append(std::string(100, 'x')).ok());
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_EQ(Read(Path("000002.log")).size(), GetParam() == LogWrites::kCached ? 100u : 0u);
}

// Files grow so far and no further, as on a full disk: to the middle of a write.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const struct rlimit limit { bytes, before_.rlim_max };
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  struct rlimit before_ {};
  void (*const handler_)(int);
};

TEST_P(LogFileTest, AWriteThatEndsInItsMiddleLeavesWhatWasSyncedAndFailsForGood) {
  // With the second, blocks cannot be written up to the limit.
  for (const rlim_t limit : {5 * kBlock, 5 * kBlock + 1000}) {
    const std::string directory = Path(std::to_string(limit));
    const std::string name = directory + "/000002.log";
    ASSERT_TRUE(env_.CreateDir(directory).ok());
    auto log = Make(name);
    std::string all(5000, 'a');
    std::string bytes;
    {
      const SizeLimit full(limit);
      ASSERT_TRUE(log->Append(all).ok());
      ASSERT_TRUE(log->Sync().ok());
      all.append(60'000, 'b');
      log->Append(all.substr(5000)).ok();
      EXPECT_FALSE(log->Sync().ok());
      bytes = Read(name);
      EXPECT_GE(bytes.size(), 5000u);
      EXPECT_LE(bytes.size(), limit);
      EXPECT_EQ(bytes, all.substr(0, bytes.size()));
    }
    EXPECT_FALSE(log->Append("c").ok());
    EXPECT_FALSE(log->Flush().ok());
    EXPECT_FALSE(log->Sync().ok());
    log.reset();
    EXPECT_EQ(Read(name), bytes);
    EXPECT_FALSE(Make(directory + "/000003.log")->Sync().ok());
  }
}

// A limit within a block makes the kernel refuse what is no whole block.
TEST_P(LogFileTest, WhereDirectWritesEndALogGoesOnThroughTheCache) {
  const std::string name = Path("000002.log");
  const auto log = Make(name);
  std::string all(100'000, 'a');
  ASSERT_TRUE(log->Append(all).ok());
  ASSERT_TRUE(log->Sync().ok());
  ASSERT_EQ(std::filesystem::file_size(name), Written(all.size())) << "without room";
  {
    const std::string some(100'200, 'b');
    all += some;
    const SizeLimit within_a_block(all.size() + 300);
    ASSERT_TRUE(log->Append(some).ok());
    EXPECT_TRUE(log->Sync().ok());
  }
  EXPECT_FALSE(IsDirect(name));
  for (const char more : {'c', 'd'}) {
    all.append(3000, more);
    ASSERT_TRUE(log->Append(std::string(3000, more)).ok());
    ASSERT_TRUE(log->Sync().ok());
  }
  const std::string bytes = Read(name);
  EXPECT_EQ(bytes, all + std::string(bytes.size() - all.size(), '\0'));
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(Read(name), all);
}

TEST_P(LogFileTest, ALogIsSyncedWhenItIsClosed) {
  auto log = Make(Path("000002.log"));
  syncs_ = 0;
  ASSERT_TRUE(log->Append("x").ok());
  log.reset();
  EXPECT_EQ(syncs_, 1);
  EXPECT_EQ(std::filesystem::file_size(Path("000002.log")), 1u);
}

TEST_P(LogFileTest, ALogGrowsOnceForManySmallSyncs) {
  const std::string name = Path("000002.log");
  auto log = Make(name);
  std::string written;
  std::set<uintmax_t> sizes;
  for (int i = 0; i < 100; ++i) {
    const std::string some(1000, static_cast<char>('a' + i % 26));
    written += some;
    ASSERT_TRUE(log->Append(some).ok());
    ASSERT_TRUE(log->Sync().ok());
    const std::string bytes = Read(name);
    sizes.insert(bytes.size());
    ASSERT_GE(bytes.size(), written.size());
    ASSERT_EQ(bytes, written + std::string(bytes.size() - written.size(), '\0'));
  }
  EXPECT_LT(sizes.size(), 10u);
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(std::filesystem::file_size(name), written.size());
}

TEST_P(LogFileTest, OnlySmallSyncsOfLogsMakeRoom) {
  const auto size_of = [&](const std::string& name, size_t bytes) {
    const auto file = Make(Path(name));
    EXPECT_TRUE(file->Append(std::string(bytes, 'x')).ok());
    EXPECT_TRUE(file->Sync().ok());
    return std::filesystem::file_size(Path(name));
  };
  EXPECT_GT(size_of("000001.log", 1000), 1000u);
  EXPECT_GT(size_of("000002.log", 96u << 10), 96u << 10);
  EXPECT_EQ(size_of("000004.log", (96u << 10) + 1), Written((96u << 10) + 1));
  EXPECT_EQ(size_of("000003.ldb", 1000), 1000u);
  EXPECT_EQ(size_of("MANIFEST-000001", 1000), 1000u);
}

TEST_P(LogFileTest, RoomIsBounded) {
  const auto log = Make(Path("000002.log"));
  constexpr uintmax_t kSynced = 96u << 10;
  ASSERT_TRUE(log->Append(std::string(kSynced, 'x')).ok());
  ASSERT_TRUE(log->Sync().ok());
  const uintmax_t room = std::filesystem::file_size(Path("000002.log")) - kSynced;
  EXPECT_EQ(room, 16 * kSynced);
}

TEST_P(LogFileTest, ALogThatWasExpectedHasItsRoomFromTheStart) {
  constexpr uintmax_t kMiB = 1u << 20;
  const std::string name = Path("000002.log");
  env_.ExpectLog(dir_.path(), {7 * kMiB, std::chrono::hours(1)});
  auto log = Make(name);
  EXPECT_EQ(std::filesystem::file_size(name), 6 * kMiB) << "as far as whole slices go";
  const std::string written(3 * kMiB, 'x');
  ASSERT_TRUE(log->Append(written).ok());
  ASSERT_TRUE(log->Sync().ok());
  EXPECT_EQ(Read(name), written + std::string(3 * kMiB, '\0'));
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(std::filesystem::file_size(name), written.size());
  Make(Path("000003.log"));
  EXPECT_EQ(std::filesystem::file_size(Path("000003.log")), 0u) << "this one was not";
}

TEST_P(LogFileTest, RoomThatTakesTooLongIsNotMade) {
  env_.ExpectLog(dir_.path(), {100u << 20, std::chrono::seconds(0)});
  const auto log = Make(Path("000002.log"));
  EXPECT_EQ(std::filesystem::file_size(Path("000002.log")), 0u);
  ASSERT_TRUE(log->Append("x").ok());
  EXPECT_TRUE(log->Sync().ok());
}

TEST_P(LogFileTest, WithoutSpaceALogThatWasExpectedHasWhatRoomThereIs) {
  env_.ExpectLog(dir_.path(), {8u << 20, std::chrono::hours(1)});
  const SizeLimit full(3u << 20);
  const auto log = Make(Path("000002.log"));
  EXPECT_TRUE(log->Append("x").ok());
  EXPECT_TRUE(log->Sync().ok());
  EXPECT_EQ(std::filesystem::file_size(Path("000002.log")), 3u << 20);
}

// As a full disk: at once, or in the midst of the room.
TEST_P(LogFileTest, WithoutSpaceForRoomALogIsSynced) {
  constexpr rlim_t kAppended = kBlock + 1000;
  for (const rlim_t space : {rlim_t{0}, rlim_t{kBlock}}) {
    const std::string directory = Path(std::to_string(space));
    ASSERT_TRUE(env_.CreateDir(directory).ok());
    const auto log = Make(directory + "/000002.log");
    ASSERT_TRUE(log->Append(std::string(kAppended, 'x')).ok());
    const SizeLimit full(Written(kAppended) + space);
    EXPECT_TRUE(log->Sync().ok());
    log->Append(std::string(space / 2, 'y')).ok();
    EXPECT_TRUE(log->Sync().ok());
    log->Append(std::string(2 * kBlock, 'z')).ok();
    EXPECT_FALSE(log->Sync().ok());
  }
}

// With sync = interval nothing else would tell of it.
TEST_P(LogFileTest, AFailedCloseFailsTheNextSyncOfALogBesideIt) {
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

}  // namespace
}  // namespace tallyd

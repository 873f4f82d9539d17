#include "storage/leveldb/tools/toolbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "tests/storage/leveldb/tools/small_store.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

// A store is made in an empty directory only, has it alone, and is none before it is complete.

class StoreBuilderTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override { config().path = path() + "/made/here"; }

  Status Build(StoreBuilder* builder) {
    std::string next;
    PutU32(&next, 1);
    Status done = builder->Take();
    if (done) done = builder->Write(1, [](const StoreBuilder::Put&) { return Status(); });
    if (!done) return done;
    return builder->Write(StoreBuilder::kBase, [&](const StoreBuilder::Put& put) {
      const Status format = put(MetaKey(MetaKind::kFormat), EncodeFormat(kFormatVersion));
      return format ? put(MetaKey(MetaKind::kNextTable), next) : format;
    });
  }
};

TEST_F(StoreBuilderTest, WhatIsCompleteOpens) {
  {
    StoreBuilder builder(config());
    ASSERT_TRUE(Build(&builder));
    ASSERT_TRUE(builder.Complete());
    EXPECT_FALSE(TryOpen()) << "it is locked";
  }
  EXPECT_FALSE(std::filesystem::exists(config().path + "/restoring"));
  Open();
  ASSERT_TRUE(Adopt(SmallStore::SchemaOf()));
  EXPECT_TRUE(Write("H", "row", 1, {{"A", "value", Value::Int(1)}}));
}

TEST_F(StoreBuilderTest, LeavingRemovesWhatWasMade) {
  StoreBuilder builder(config());
  ASSERT_TRUE(Build(&builder));
  builder.Leave();
  EXPECT_FALSE(std::filesystem::exists(path() + "/made"));
}

// As after a crash, at any of its steps.
TEST_F(StoreBuilderTest, WhatIsNotCompleteDoesNotOpen) {
  for (const bool built : {false, true}) {
    std::filesystem::remove_all(config().path);
    {
      StoreBuilder killed(config());
      ASSERT_TRUE(built ? Build(&killed) : killed.Take());
    }
    const Status opened = TryOpen();
    ASSERT_FALSE(opened) << built;
    EXPECT_EQ(opened.error().code(), ErrorCode::kConflict) << opened.error().message();
    const Status taken = StoreBuilder(config()).Take();
    ASSERT_FALSE(taken) << built;
    for (const std::string& said : {opened.error().message(), taken.error().message()}) {
      EXPECT_NE(said.find("restore or salvage again"), std::string::npos) << said;
    }
    EXPECT_TRUE(std::filesystem::exists(config().path + "/restoring"));
  }
}

TEST_F(StoreBuilderTest, WhatIsTakenNobodyElseGets) {
  StoreBuilder builder(config());
  ASSERT_TRUE(builder.Take());
  EXPECT_FALSE(TryOpen());
  const Status taken = StoreBuilder(config()).Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(std::filesystem::exists(builder.blocks_directory())) << "it is the other's";
}

TEST_F(StoreBuilderTest, ADirectoryThatIsLockedIsNotTaken) {
  std::filesystem::create_directories(config().path);
  DurableEnv env({[](double) {}, [] {}});
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env.LockFile(config().path + "/LOCK", &lock).ok());
  const Status taken = StoreBuilder(config()).Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(FilesBelow(config().path).size(), 1u);
  ASSERT_TRUE(env.UnlockFile(lock).ok());
  EXPECT_TRUE(StoreBuilder(config()).Take()) << "LOCK is no data";
}

TEST_F(StoreBuilderTest, WhatOthersPutThereStays) {
  StoreBuilder builder(config());
  ASSERT_TRUE(Build(&builder));
  std::ofstream(config().path + "/note") << "mine";
  builder.Leave();
  EXPECT_EQ(FilesBelow(config().path), (std::map<std::string, std::string>{{"note", "mine"}}));
}

TEST_F(StoreBuilderTest, WhatARefusedDaemonLeavesIsNoData) {
  std::filesystem::create_directories(config().path);
  std::ofstream(config().path + "/ballast") << "0";
  StoreBuilder builder(config());
  EXPECT_TRUE(Build(&builder));
}

TEST_F(StoreBuilderTest, TheRootOfAVolumeIsEmpty) {
  std::filesystem::create_directories(config().path + "/lost+found");
  StoreBuilder builder(config());
  EXPECT_TRUE(Build(&builder));
  EXPECT_TRUE(std::filesystem::exists(config().path + "/lost+found"));
}

TEST_F(StoreBuilderTest, WhatIsMadeIsOfTheOwnerOfTheDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  std::filesystem::create_directories(config().path);
  ASSERT_EQ(::chown(config().path.c_str(), 12345, 12346), 0);
  std::ofstream(path() + "/of-root") << "x";
  ToolProgress progress;
  TransferCounts counts;
  StoreBuilder builder(config());
  ASSERT_TRUE(builder.Take());
  ASSERT_TRUE(builder.Bring(path() + "/of-root", builder.blocks_directory() + "/000001.blocks",
                            &progress, &counts));
  EXPECT_EQ(counts.copied, 1u) << "a link would change the owner of both, or of neither";
  ASSERT_TRUE(
      builder.Write(StoreBuilder::kBase, [](const StoreBuilder::Put&) { return Status(); }));
  ASSERT_TRUE(builder.Complete());
  for (const auto& [name, bytes] : FilesBelow(config().path)) {
    EXPECT_EQ(*OwnerOf(config().path + "/" + name), (Owner{12345, 12346})) << name;
  }
  EXPECT_EQ(*OwnerOf(path() + "/of-root"), (Owner{0, 0}));
}

TEST_F(StoreBuilderTest, AnotherDirectoryStaysAsItIs) {
  std::filesystem::create_directories(config().path);
  std::ofstream(config().path + "/note") << "mine";
  StoreBuilder builder(config());
  const Status taken = builder.Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(FilesBelow(config().path).size(), 1u);
}

// Files get elsewhere whole or not at all.

class TransferTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return dir_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(At(name), std::ios::binary) << bytes;
  }
  std::string Read(const std::string& name) const { return FilesBelow(dir_.path())[name]; }

  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  ToolProgress progress_;
  TransferCounts counts_;
};

TEST_F(TransferTest, OnOneFileSystemItIsALink) {
  Write("from", "bytes");
  ASSERT_TRUE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_));
  EXPECT_EQ(std::filesystem::hard_link_count(At("to")), 2u);
  EXPECT_EQ(counts_.linked, 1u);
  EXPECT_EQ(progress_.done, 0u);
}

// A directory has no second name; that it cannot be read either is seen at once.
TEST_F(TransferTest, WhatCannotBeReadLeavesNothing) {
  std::filesystem::create_directory(At("from"));
  EXPECT_FALSE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_));
  EXPECT_FALSE(LinkOrCopy(&env_, At("nowhere"), At("to"), &progress_, &counts_));
  EXPECT_FALSE(std::filesystem::exists(At("to")));
  EXPECT_EQ(counts_.linked + counts_.copied, 0u);
}

TEST_F(TransferTest, WhatIsThereIsNotReplaced) {
  Write("from", "new");
  Write("to", "old");
  EXPECT_FALSE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_));
  EXPECT_EQ(Read("to"), "old");
}

TEST_F(TransferTest, AcrossFileSystemsItIsACopy) {
  std::string shared = "/dev/shm/tallyd-transfer-XXXXXX";
  if (::mkdtemp(shared.data()) == nullptr) GTEST_SKIP() << "no other file system";
  const std::string bytes(3'000'000, 'x');
  std::ofstream(shared + "/from") << bytes;
  ASSERT_TRUE(LinkOrCopy(&env_, shared + "/from", At("to"), &progress_, &counts_));
  if (counts_.copied == 1) {
    EXPECT_EQ(counts_.copied_bytes, bytes.size());
    EXPECT_EQ(progress_.done, bytes.size());
    progress_.stop = true;
    EXPECT_FALSE(LinkOrCopy(&env_, shared + "/from", At("stopped"), &progress_, &counts_));
    EXPECT_FALSE(std::filesystem::exists(At("stopped")));
  }
  EXPECT_EQ(Read("to"), bytes);
  std::filesystem::remove_all(shared);
}

// A copy that was interrupted may have left a link under the name that the next one takes.
TEST_F(TransferTest, NoCopyWritesIntoAFileThatWasThere) {
  Write("from", "bytes");
  Write("precious", "precious");
  std::filesystem::create_hard_link(At("precious"), At("to.new"));
  ASSERT_TRUE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_, Transfer::kCopy));
  EXPECT_EQ(counts_.copied, 1u);
  EXPECT_EQ(FilesBelow(dir_.path()),
            (std::map<std::string, std::string>{
                {"from", "bytes"}, {"precious", "precious"}, {"to", "bytes"}}));
  std::filesystem::create_hard_link(At("precious"), At("file.new"));
  ASSERT_TRUE(ReplaceFile(&env_, At("file"), "one"));
  EXPECT_EQ(Read("precious"), "precious");
}

// As a read() that is cut short tells of it.
TEST_F(TransferTest, ACopyThatIsShorterIsNone) {
  class ShortEnv final : public StoreEnv {
   public:
    explicit ShortEnv(StoreEnv* env) : StoreEnv(env), env_(env) {}
    leveldb::Status GetFileSize(const std::string& name, uint64_t* size) override {
      const leveldb::Status got = env_->GetFileSize(name, size);
      if (name.ends_with("from")) *size += 1;
      return got;
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
  Write("from", "bytes");
  ShortEnv env(&env_);
  EXPECT_FALSE(LinkOrCopy(&env, At("from"), At("to"), &progress_, &counts_, Transfer::kCopy));
  EXPECT_EQ(FilesBelow(dir_.path()).size(), 1u);
}

TEST_F(TransferTest, FilesOfTheSameBytesAreTold) {
  Write("a", std::string(3'000'000, 'x'));
  Write("b", std::string(3'000'000, 'x'));
  Write("c", std::string(2'999'999, 'x') + 'y');
  EXPECT_TRUE(HaveSameBytes(&env_, At("a"), At("b")));
  EXPECT_FALSE(HaveSameBytes(&env_, At("a"), At("c")));
  EXPECT_FALSE(HaveSameBytes(&env_, At("a"), At("none")));
}

TEST_F(TransferTest, WhatIsMadeIsOfTheOwnerButForWhatIsShared) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  std::filesystem::create_directory(At("d"));
  Write("d/own", "x");
  Write("shared", "x");
  std::filesystem::create_hard_link(At("shared"), At("d/shared"));
  constexpr Owner kOther{12345, 12346};
  ASSERT_TRUE(GiveTo(kOther, At("d")));
  EXPECT_EQ(*OwnerOf(At("d")), kOther);
  EXPECT_EQ(*OwnerOf(At("d/own")), kOther);
  EXPECT_EQ(*OwnerOf(At("d/none/at/all")), kOther) << "it would be made there";
  EXPECT_EQ(*OwnerOf(At("shared")), (Owner{0, 0}));
}

TEST_F(TransferTest, AFileIsReplacedAsAWhole) {
  ASSERT_TRUE(ReplaceFile(&env_, At("file"), "one"));
  ASSERT_TRUE(ReplaceFile(&env_, At("file"), "two"));
  EXPECT_EQ(FilesBelow(dir_.path()), (std::map<std::string, std::string>{{"file", "two"}}));
  EXPECT_FALSE(ReplaceFile(&env_, At("none/file"), "one"));
}

}  // namespace
}  // namespace tallyd

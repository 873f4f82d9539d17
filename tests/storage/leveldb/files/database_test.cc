// Who may use the files of a store when: leases beside writes, a closing, a write that failed.
#include "storage/leveldb/files/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

using Strings = std::vector<std::string>;

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    database_.emplace(config_, &env_);
    std::filesystem::create_directories(config_.path);
    Open();
    // A base that knows no table is not opened beside heads that hold data.
    ASSERT_TRUE(WriteBase(MetaKey(MetaKind::kNextTable), std::string(4, '\0')));
  }

  void Open() {
    const Status opened = database_->Open(1u << 20);
    ASSERT_TRUE(opened) << opened.error().message();
    database_->AdmitReaders({}, {});
  }
  void Reopen() {
    database_->Close();
    Open();
  }

  Status Write(
      const std::string& key, DeleteList deletes = {},
      const std::function<void()>& publish = [] {}) {
    leveldb::WriteBatch batch;
    batch.Put(key, "value");
    HeadWrite write;
    write.batch = &batch;
    write.deletes = std::move(deletes);
    write.sync = true;
    return database_->WriteHead(write, publish);
  }
  // A group whose record is large, each time of other entries.
  Status WriteLarge(const std::function<void()>& publish) {
    constexpr size_t kEntries = 2000;
    constexpr std::string_view kEntry = "an entry of some fifty bytes, or a few more than that";
    ++groups_;
    std::vector<std::string> keys(kEntries);
    EntrySorter entries;
    for (size_t i = 0; i < kEntries; ++i) {
      char key[64];
      const std::string row = std::to_string(groups_ * kEntries + i);
      char* const end = EncodeEntryKey(key, 1, row, static_cast<TimeUs>(i));
      keys[i].assign(key, end);
      entries.Add(keys[i], kEntry);
    }
    leveldb::WriteBatch batch;
    HeadWrite write;
    write.batch = &batch;
    write.entries = entries.TakeRun();
    write.sequence = groups_;
    write.sync = true;
    return database_->WriteHead(write, publish);
  }
  // Of the history, in the heads.
  size_t CountEntries() {
    const std::unique_ptr<Lease> lease = NewLease();
    const LeaseAccess access(lease.get());
    size_t count = 0;
    for (size_t head = 0; head < access.view().heads.size(); ++head) {
      leveldb::Iterator& it = access.iterator(head);
      for (it.Seek(TablePrefix(KeySpace::kRows, 1)); it.Valid(); it.Next()) {
        count += static_cast<KeySpace>(it.key()[0]) == KeySpace::kRows ? 1 : 0;
      }
    }
    return count;
  }
  Status WriteBase(const std::string& key, const std::string& value) {
    leveldb::WriteBatch batch;
    batch.Put(key, value);
    return database_->WriteBase(&batch);
  }
  std::unique_ptr<Lease> NewLease() {
    Result<std::unique_ptr<Lease>> lease = database_->NewLease();
    EXPECT_TRUE(lease);
    return lease ? std::move(*lease) : nullptr;
  }
  // The keys that the lease's heads have, oldest head first.
  static Strings KeysOf(Lease* lease) {
    const LeaseAccess access(lease);
    EXPECT_TRUE(access);
    Strings keys;
    for (size_t head = 0; access && head < access.view().heads.size(); ++head) {
      leveldb::Iterator& it = access.iterator(head);
      for (it.SeekToFirst(); it.Valid(); it.Next()) {
        if (it.value() == "value") keys.push_back(it.key().ToString());
      }
    }
    return keys;
  }

  TempDir dir_;
  FaultEnv env_;
  StorageConfig config_ = TestStorage(dir_);
  std::optional<Database> database_;
  uint64_t groups_ = 0;
};

TEST_F(DatabaseTest, ALeaseIsOfOneMoment) {
  ASSERT_TRUE(Write("a"));
  const std::unique_ptr<Lease> before = NewLease();
  ASSERT_TRUE(Write("b"));
  EXPECT_EQ(KeysOf(before.get()), (Strings{"a"}));
  EXPECT_EQ(KeysOf(NewLease().get()), (Strings{"a", "b"}));
}

TEST_F(DatabaseTest, ReadersSeeAWriteWhenMemoryHasFollowedIt) {
  Strings meanwhile = {"nobody looked"};
  ASSERT_TRUE(Write("a", {}, [&] { meanwhile = KeysOf(NewLease().get()); }));
  EXPECT_EQ(meanwhile, Strings());
  EXPECT_EQ(KeysOf(NewLease().get()), (Strings{"a"}));
}

TEST_F(DatabaseTest, AWriteIsSeenTogetherWithItsDeletes) {
  const std::unique_ptr<Lease> before = NewLease();
  ASSERT_TRUE(Write("a", {std::make_shared<const DeleteRange>(1, 5, DeleteSpec{})}));
  EXPECT_EQ(LeaseAccess(before.get()).view().last_delete(), 0u);
  EXPECT_EQ(LeaseAccess(NewLease().get()).view().last_delete(), 5u);
}

TEST_F(DatabaseTest, ClosingRevokesLeasesAndOpeningBringsNoneBack) {
  ASSERT_TRUE(Write("a"));
  const std::unique_ptr<Lease> lease = NewLease();
  const uint64_t opening = database_->opening();
  Reopen();
  EXPECT_FALSE(LeaseAccess(lease.get()));
  EXPECT_EQ(KeysOf(NewLease().get()), (Strings{"a"}));
  EXPECT_GT(database_->opening(), opening);
}

TEST_F(DatabaseTest, WhatIsClosedIsUnavailableToReaders) {
  database_->Close();
  EXPECT_EQ(database_->view(), nullptr);
  const Result<std::unique_ptr<Lease>> lease = database_->NewLease();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code(), ErrorCode::kUnavailable);
}

TEST_F(DatabaseTest, AfterAFailedWriteNothingFollowsUntilTheReopen) {
  ASSERT_TRUE(Write("a"));
  env_.FailAt(env_.calls() + 1, Fault::kIo, true);
  bool published = false;
  EXPECT_FALSE(Write("failed", {}, [&] { published = true; }));
  EXPECT_FALSE(published);
  env_.Heal();
  EXPECT_FALSE(Write("b"));
  EXPECT_FALSE(database_->BeginHead());
  EXPECT_FALSE(database_->SyncNewestHead());
  EXPECT_EQ(KeysOf(NewLease().get()), (Strings{"a"})) << "readers go on";
  Reopen();
  EXPECT_TRUE(Write("b"));
}

TEST_F(DatabaseTest, ALargeGroupIsSeenWhenItIsSyncedAndNotBefore) {
  uint64_t calls = 0;
  for (bool failed = true; failed; ++calls) {
    const size_t before = CountEntries();
    env_.FailAt(env_.calls() + calls + 1, Fault::kIo, true);
    bool published = false;
    const Status written = WriteLarge([&] { published = true; });
    failed = env_.failed();
    env_.Heal();
    EXPECT_EQ(published, !failed);
    EXPECT_EQ(written.has_value(), !failed);
    EXPECT_EQ(CountEntries(), before + (failed ? 0 : 2000));
    if (!failed) break;
    EXPECT_FALSE(Write("b")) << "nothing follows";
    Reopen();
  }
  EXPECT_GT(calls, 5u) << "writes, a sync, and a note of it";
}

TEST_F(DatabaseTest, APowerCutWhileALargeGroupIsWrittenLeavesAStoreThatOpens) {
  const uint64_t before = env_.calls();
  ASSERT_TRUE(WriteLarge([] {}));
  const uint64_t calls = env_.calls() - before;
  for (const Loss loss : {Loss::kRandomTail, Loss::kRandomSectors, Loss::kZeroedSectors}) {
    for (unsigned seed = 0; seed < 8 * calls; ++seed) {
      database_.reset();
      std::filesystem::remove_all(config_.path);
      ASSERT_NO_FATAL_FAILURE(SetUp());
      const uint64_t call = seed % calls + 1;
      env_.CutAt(env_.calls() + call);
      const Status written = WriteLarge([] {});
      database_->Close();
      env_.LosePower(loss, seed);
      ASSERT_NO_FATAL_FAILURE(Open()) << "cut at call " << call << ", seed " << seed;
      const size_t found = CountEntries();
      EXPECT_TRUE(found == 2000 || (found == 0 && !written)) << "whole or not at all";
    }
  }
}

// Files that nobody names are judged by it at such a start, too.
TEST_F(DatabaseTest, OpenedToBeReadOnlyItKnowsWhichStoreItIs) {
  const std::string store = database_->shelf().store();
  ASSERT_FALSE(store.empty());
  database_.emplace(config_, &env_);
  ASSERT_TRUE(database_->OpenToRead(1u << 20));
  EXPECT_EQ(database_->shelf().store(), store);
}

TEST_F(DatabaseTest, AnEmptyHeadIsNotFollowedByAnother) {
  const Result<bool> begun = database_->BeginHead();
  ASSERT_TRUE(begun);
  EXPECT_FALSE(*begun);
}

TEST_F(DatabaseTest, AnotherHeadTakesWhatComesNext) {
  ASSERT_TRUE(Write("a"));
  const Result<bool> begun = database_->BeginHead();
  ASSERT_TRUE(begun && *begun);
  ASSERT_TRUE(Write("b"));
  const std::unique_ptr<Lease> lease = NewLease();
  EXPECT_EQ(KeysOf(lease.get()), (Strings{"a", "b"}));
  const LeaseAccess access(lease.get());
  ASSERT_EQ(access.view().heads.size(), 2u);
  const Result<bool> is_closed = access.view().heads[0]->IsClosed();
  EXPECT_TRUE(is_closed && *is_closed);
}

TEST_F(DatabaseTest, ALeaseOfFilesHoldsNoHead) {
  ASSERT_TRUE(Write("a"));
  const Result<std::unique_ptr<Lease>> lease = database_->NewLeaseOfFiles();
  ASSERT_TRUE(lease);
  EXPECT_TRUE(LeaseAccess(lease->get()).view().heads.empty());
}

TEST_F(DatabaseTest, ALeaseOfAMomentHasBaseAsItWas) {
  ASSERT_TRUE(WriteBase("key", "then"));
  const Result<std::unique_ptr<Lease>> lease = database_->NewLeaseOfMoment();
  ASSERT_TRUE(lease);
  ASSERT_TRUE(WriteBase("key", "now"));
  const Result<std::string> now = database_->Get("key");
  EXPECT_TRUE(now && *now == "now");
  const LeaseAccess access(lease->get());
  access.base_iterator().Seek("key");
  ASSERT_TRUE(access.base_iterator().Valid());
  EXPECT_EQ(ToView(access.base_iterator().value()), "then");
}

TEST_F(DatabaseTest, WhatBaseDoesNotHaveIsNotFound) {
  const Result<std::string> got = database_->Get("absent");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kNotFound);
}

TEST_F(DatabaseTest, AViewThatIsHeldDoesNotChange) {
  const ViewPtr before = database_->view();
  database_->ChangeView([](View* view) {
    view->AddDeletes({std::make_shared<const DeleteRange>(1, 5, DeleteSpec{})});
  });
  EXPECT_EQ(before->last_delete(), 0u);
  EXPECT_EQ(database_->view()->last_delete(), 5u);
}

}  // namespace
}  // namespace tallyd

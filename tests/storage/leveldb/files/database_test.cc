// Who sees what of a database and when: leases, commits, new heads, closing and opening again.
#include "storage/leveldb/files/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tests/storage/leveldb/history_maker.h"

namespace tallyd {
namespace {

class DatabaseTest : public ::testing::Test, public HistoryMaker {
 protected:
  DatabaseTest() { Open(); }

  // Entries of the heads that a lease sees.
  static int Count(Lease* lease) {
    const Access access(lease);
    EXPECT_TRUE(access);
    int entries = 0;
    for (size_t head = 0; access && head < access.view().heads.size(); ++head) {
      leveldb::Iterator& it = access.iterator(head);
      const std::string rows = TablePrefix(KeySpace::kRows, kTable);
      for (it.Seek(rows); it.Valid() && it.key().starts_with(rows); it.Next()) ++entries;
    }
    return entries;
  }
  int CountNow() { return Count(NewLease().get()); }
  size_t Heads() { return database().view()->heads.size(); }
};

TEST_F(DatabaseTest, ALeaseSeesWhatWasThereWhenItWasTaken) {
  Put({{"a", 1, 1, 1}});
  const auto before = NewLease();
  Put({{"b", 1, 2, 1}});
  EXPECT_EQ(Count(before.get()), 1);
  EXPECT_EQ(CountNow(), 2);
}

TEST_F(DatabaseTest, ACommitAndItsDeletesAreSeenAtOnce) {
  leveldb::WriteBatch batch;
  batch.Put("key", "value");
  HeadWrite write;
  write.batch = &batch;
  write.deletes = {std::make_shared<const DeleteRange>(kTable, 5, DeleteSpec{})};
  const auto before = NewLease();
  ASSERT_TRUE(database().WriteHead(write, [] {}));
  EXPECT_TRUE(Access(before.get()).view().DeletesOf(kTable).empty());
  const auto after = NewLease();
  EXPECT_EQ(Access(after.get()).view().DeletesOf(kTable).size(), 1u);
}

TEST_F(DatabaseTest, MemoryIsToldOfACommitBeforeReadersAre) {
  leveldb::WriteBatch batch;
  batch.Put(TablePrefix(KeySpace::kRows, kTable) + "entry", "value");
  HeadWrite write;
  write.batch = &batch;
  int seen = -1;
  ASSERT_TRUE(database().WriteHead(write, [&] { seen = CountNow(); }));
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(CountNow(), 1);
}

TEST_F(DatabaseTest, AFailedWriteIsTheEndUntilAReopen) {
  Put({{"a", 1, 1, 1}});
  env().FailAt(env().calls() + 1, Fault::kNoSpace, false);
  EXPECT_EQ(TryPut({{"b", 1, 2, 1}}).error().code(), ErrorCode::kNoSpace);
  env().Heal();
  EXPECT_FALSE(TryPut({{"c", 1, 3, 1}})) << "the end of its log is unknown";
  EXPECT_FALSE(database().BeginHead());
  EXPECT_FALSE(database().SyncNewestHead());
  EXPECT_EQ(CountNow(), 1) << "what was refused is not seen";
  database().Close();
  Open();
  EXPECT_TRUE(TryPut({{"d", 1, 4, 1}}));
}

TEST_F(DatabaseTest, AnEmptyHeadIsNotFollowedByAnother) {
  EXPECT_FALSE(database().BeginHead().value());
  Put({{"a", 1, 1, 1}});
  EXPECT_TRUE(database().BeginHead().value());
  EXPECT_EQ(Heads(), 2u);
  EXPECT_FALSE(database().BeginHead().value());
  EXPECT_TRUE(database().view()->heads.front()->IsClosed().value());
  EXPECT_FALSE(database().view()->heads.back()->IsClosed().value());
}

TEST_F(DatabaseTest, WhatCameToSeveralHeadsIsThereAfterAReopen) {
  for (uint64_t i = 1; i <= 3; ++i) {
    Put({{"a", 1, i, 1}});
    BeginHead();
  }
  database().Close();
  EXPECT_FALSE(database().is_open());
  Open();
  EXPECT_EQ(Heads(), 4u);
  EXPECT_EQ(CountNow(), 3);
}

TEST_F(DatabaseTest, ClosingRevokesEveryLease) {
  Put({{"a", 1, 1, 1}});
  const auto lease = NewLease();
  Count(lease.get());
  database().Close();
  EXPECT_FALSE(Access(lease.get()));
  EXPECT_EQ(database().view(), nullptr);
  Open();
  EXPECT_FALSE(Access(lease.get())) << "it does not come back";
  EXPECT_EQ(CountNow(), 1);
}

TEST_F(DatabaseTest, WhoAsksDuringAReopenWaitsForIt) {
  Put({{"a", 1, 1, 1}});
  database().Close();
  const std::jthread opener([this] { Open(); });
  auto lease = database().NewLease();
  while (!lease) lease = database().NewLease();  // On a slow day it takes more than one try.
  EXPECT_EQ(Count(lease->get()), 1);
}

TEST_F(DatabaseTest, WhereNoReopenComesAReaderGivesUp) {
  database().Close();
  const auto lease = database().NewLease();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(database().BeginHead().error().code(), ErrorCode::kUnavailable);
  database().ChangeView([](View*) { FAIL() << "there is none"; });
}

TEST_F(DatabaseTest, ALeaseOfFilesHoldsNoHead) {
  MakeFile({{"a", 1, 1, 1}});
  Put({{"b", 1, 2, 1}});
  const auto lease = std::move(database().NewLeaseOfFiles()).value();
  const Access access(lease.get());
  EXPECT_TRUE(access.view().heads.empty());
  EXPECT_EQ(access.view().FilesOf(kTable).size(), 1u);
}

TEST_F(DatabaseTest, AFileThatWasReplacedGoesAfterItsLastReader) {
  MakeFile({{"a", 1, 1, 1}});
  BlockFilePtr file = database().view()->FilesOf(kTable).front();
  const std::string path = file->path();
  auto lease = NewLease();
  database().ChangeView([&](View* view) { view->Replace({file}, {}); });
  database().Dispose();
  EXPECT_TRUE(Access(lease.get()).view().FilesOf(kTable).front()->Index());
  file.reset();
  lease.reset();
  database().Dispose();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DatabaseTest, WhatBaseDoesNotHaveIsNotFound) {
  EXPECT_EQ(database().Get("nothing").error().code(), ErrorCode::kNotFound);
  leveldb::WriteBatch batch;
  batch.Put("some", "value");
  ASSERT_TRUE(database().WriteBase(&batch));
  EXPECT_EQ(database().Get("some").value(), "value");
  database().Close();
  Open();
  EXPECT_EQ(database().Get("some").value(), "value");
}

TEST_F(DatabaseTest, BytesOfTheNewestHeadGrowAndBeginAgain) {
  const uint64_t empty = database().newest_head_bytes();
  Put({{std::string(1000, 'r'), 1, 1, 1}});
  EXPECT_GE(database().newest_head_bytes(), empty + 1000);
  BeginHead();
  Put({{"a", 1, 2, 1}});
  EXPECT_LT(database().newest_head_bytes(), 1000u);
}

}  // namespace
}  // namespace tallyd

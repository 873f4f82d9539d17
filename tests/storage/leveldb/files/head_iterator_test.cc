// A head's records and groups as one sequence, compared with a LevelDB that has each entry alone.
#include "storage/leveldb/files/head_iterator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/view.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class HeadIteratorTest : public ::testing::TestWithParam<int> {
 protected:
  HeadIteratorTest() {
    std::filesystem::create_directory(HeadsDirectory(dir_.path()));
    Open();
    plain_ = OpenHead(2);
  }

  std::shared_ptr<Head> OpenHead(uint64_t number) {
    leveldb::Options options;
    options.env = &env_;
    options.create_if_missing = true;
    return *Head::Open(HeadsDirectory(dir_.path()), number, options, 1u << 20);
  }
  void Open() { head_ = OpenHead(1); }
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  std::string RandomKey() {
    const std::string row(1 + Below(2), static_cast<char>('a' + Below(4)));
    std::string key(MaxEntryKeyBytes(row.size()), '\0');
    char* const end = EncodeEntryKey(key.data(), static_cast<TableId>(1 + Below(3)), row,
                                     static_cast<TimeUs>(Below(20)));
    key.resize(static_cast<size_t>(end - key.data()));
    PatchSequence(key.data(), key.size(), ++sequence_);
    return key;
  }
  void PutRecord(const std::string& key, const std::string& value) {
    ASSERT_TRUE(head_->db().Put({}, key, value).ok());
    ASSERT_TRUE(plain_->db().Put({}, key, value).ok());
  }
  void PutGroup(size_t entries) {
    EntrySorter sorter;
    std::vector<std::string> keys;
    for (size_t i = 0; i < entries; ++i) keys.push_back(RandomKey());
    for (const std::string& key : keys) {
      sorter.Add(key, "value");
      ASSERT_TRUE(plain_->db().Put({}, key, "value").ok());
    }
    const std::shared_ptr<EntryRun> run = sorter.TakeRun();
    const std::string key = GroupKey(sequence_);
    ASSERT_TRUE(head_->db().Put({}, key, ToSlice(run->record())).ok());
    head_->AddRun(key, run);
  }
  // Records of other kinds before and behind entries, and entries of their own among groups.
  void Fill() {
    if (Below(4) > 0) PutRecord(MetaKey(MetaKind::kLastSequence), "meta");
    for (uint64_t i = Below(20); i > 0; --i) PutGroup(1 + Below(10));
    for (uint64_t i = Below(3); i > 0; --i) PutRecord(RandomKey(), "alone");
    for (uint64_t i = Below(3); i > 0; --i) PutRecord(MemoKey(std::to_string(i)), "memo");
    if (Below(2) > 0) PutRecord(LatestChangesKey(sequence_), "changes");
  }
  static void ExpectSame(const leveldb::Iterator& at, const leveldb::Iterator& expected) {
    ASSERT_EQ(at.Valid(), expected.Valid());
    ASSERT_TRUE(at.status().ok());
    if (!at.Valid()) return;
    ASSERT_TRUE(at.key() == expected.key());
    ASSERT_TRUE(at.value() == expected.value());
  }
  void Compare() {
    const auto at = head_->NewIterator();
    const auto expected = plain_->NewIterator();
    at->SeekToFirst();
    expected->SeekToFirst();
    for (int step = 0; step < 600 && !HasFatalFailure(); ++step) {
      ExpectSame(*at, *expected);
      const uint64_t what = at->Valid() ? Below(24) : Below(4);
      const std::string key =
          what == 0 ? RandomKey() : std::string(1, static_cast<char>(Below(80)));
      for (leveldb::Iterator* each : {at.get(), expected.get()}) {
        if (what < 2) {
          each->Seek(key);
        } else if (what == 2) {
          each->SeekToFirst();
        } else if (what == 3) {
          each->SeekToLast();
        } else {
          what % 2 == 0 ? each->Next() : each->Prev();
        }
      }
    }
  }

  std::mt19937_64 random_{static_cast<uint64_t>(GetParam())};
  uint64_t sequence_ = 0;
  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  std::shared_ptr<Head> head_;
  std::shared_ptr<Head> plain_;
};

TEST_P(HeadIteratorTest, GoesAsIfEachEntryWereARecord) {
  Fill();
  Compare();
}

TEST_P(HeadIteratorTest, GoesSoAfterARestart) {
  Fill();
  head_.reset();
  Open();
  Compare();
}

TEST_P(HeadIteratorTest, HasTheGroupsOfItsMoment) {
  PutGroup(3);
  const HeadSnapshot moment = head_->TakeSnapshot();
  PutGroup(5);
  const auto at = head_->NewIterator(moment);
  int entries = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) ++entries;
  EXPECT_EQ(entries, 3);
}

TEST_P(HeadIteratorTest, GivesNoEntryWhereAGroupCannotBeRead) {
  Fill();
  PutGroup(2);
  PutRecord(MetaKey(MetaKind::kLastSequence), "meta");
  PutRecord(MemoKey("k"), "memo");
  ASSERT_TRUE(head_->db().Put({}, GroupKey(++sequence_), "no group").ok());
  head_.reset();
  Open();
  const auto at = head_->NewIterator();
  at->SeekToFirst();
  EXPECT_EQ(at->key(), MetaKey(MetaKind::kLastSequence));
  at->Next();
  EXPECT_FALSE(at->Valid());
  EXPECT_TRUE(at->status().IsCorruption());
  at->Seek(RandomKey());
  EXPECT_FALSE(at->Valid());
  EXPECT_TRUE(at->status().IsCorruption());
  at->Seek(MemoKey("k"));
  ASSERT_TRUE(at->Valid());
  EXPECT_TRUE(at->status().ok());
  EXPECT_EQ(at->value(), "memo");
  at->Seek(std::string(1, static_cast<char>(KeySpace::kCopies)));
  ASSERT_TRUE(at->Valid());
  at->Prev();
  EXPECT_FALSE(at->Valid());
  EXPECT_TRUE(at->status().IsCorruption());
  at->SeekToLast();
  EXPECT_EQ(at->key(), MemoKey("k"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, HeadIteratorTest, ::testing::Range(1, 31));

}  // namespace
}  // namespace tallyd

// A head's life: opened, written, closed to writes, dropped; and what its directory tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/view.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/files/entry_run_helper.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class HeadTest : public ::testing::Test {
 protected:
  HeadTest() : directory_(HeadsDirectory(dir_.path())) { fs::create_directory(directory_); }

  std::shared_ptr<Head> Open(uint64_t number, uint64_t head_bytes = kHeadBytes) {
    leveldb::Options options;
    options.env = &env_;
    options.create_if_missing = true;
    auto head = Head::Open(directory_, number, options, head_bytes);
    EXPECT_TRUE(head);
    return *head;
  }
  std::vector<uint64_t> Listed() { return ListHeads(&env_, directory_).value(); }
  static void Put(Head* head, const std::string& key, const std::string& value) {
    ASSERT_TRUE(head->db().Put({}, key, value).ok());
    head->AddBytes(key.size() + value.size());
  }
  static std::string Get(Head* head, const HeadSnapshot& snapshot, const std::string& key) {
    leveldb::ReadOptions options;
    options.snapshot = snapshot.records.get();
    std::string value;
    return head->db().Get(options, key, &value).ok() ? value : "(none)";
  }

  // Whether the run lies where LevelDB has its record.
  static bool IsHeld(Head* head, uint64_t sequence, size_t bytes) {
    const std::string key = KeyOf("row", 7, sequence);
    const std::string value(bytes, 'v');
    EntrySorter sorter;
    sorter.Add(key, value);
    const std::shared_ptr<EntryRun> run = sorter.TakeRun();
    EXPECT_TRUE(head->db().Put({}, GroupKey(sequence), ToSlice(run->record())).ok());
    head->AddRun(GroupKey(sequence), run);
    const std::unique_ptr<leveldb::Iterator> it(head->db().NewIterator({}));
    it->Seek(GroupKey(sequence));
    EXPECT_EQ(run->entries().front().value(), value);
    return it->Valid() && run->record().data() == it->value().data();
  }
  bool HasTableFile(uint64_t number) {
    const fs::directory_iterator files(HeadPath(directory_, number));
    return std::any_of(begin(files), end(files),
                       [](const auto& file) { return file.path().extension() == ".ldb"; });
  }

  static constexpr uint64_t kHeadBytes = 256u << 10;
  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  const std::string directory_;
};

TEST_F(HeadTest, ANewHeadIsEmptyAndKnowsThatItHasNoTimes) {
  const auto head = Open(1);
  EXPECT_EQ(head->bytes(), 0u);
  EXPECT_EQ(head->since(), std::chrono::steady_clock::time_point::max());
  ASSERT_TRUE(head->TimesOf(7));
  EXPECT_TRUE(head->TimesOf(7)->is_empty());
}

// LevelDB writes the length of a value as 32 bits.
TEST_F(HeadTest, AGroupThatIsTooLargeIsNoRecord) {
  const auto head = Open(1);
  EXPECT_TRUE(head->TakesGroup(256u << 20));
  EXPECT_FALSE(head->TakesGroup((256u << 20) + 1));
}

TEST_F(HeadTest, AHeadOfTwiceItsSizeTakesNoMoreGroups) {
  const auto head = Open(1);
  head->AddBytes(2 * kHeadBytes - 1);
  EXPECT_TRUE(head->TakesGroup(1));
  head->AddBytes(1);
  EXPECT_FALSE(head->TakesGroup(1));
}

// Its record is in LevelDB's memory once it is written, and stays while the run does, whatever
// LevelDB makes of its own; a small one is copied.
TEST_F(HeadTest, WhatAGroupHoldsIsThereAsLongAsItsRun) {
  for (const size_t value_bytes : {size_t{10}, size_t{10'000}}) {
    auto head = Open(value_bytes);
    EntrySorter sorter;
    std::vector<std::pair<std::string, std::string>> entries;
    for (uint64_t i = 1; i <= 20; ++i) {
      entries.emplace_back(KeyOf("row", 7, i),
                           std::string(value_bytes, static_cast<char>('a' + i)));
    }
    for (const auto& [key, value] : entries) sorter.Add(key, value);
    std::shared_ptr<EntryRun> run = sorter.TakeRun();
    ASSERT_TRUE(head->db().Put({}, GroupKey(20), ToSlice(run->record())).ok());
    head->AddRun(GroupKey(20), run);
    sorter.Add(entries.front().first, "another");
    sorter.TakeRun();
    head->db().CompactRange(nullptr, nullptr);
    const auto check = [&] {
      ASSERT_EQ(run->entries().size(), entries.size());
      for (const EntryRun::Entry& entry : run->entries()) {
        const auto same =
            std::ranges::find(entries, entry.key(), &decltype(entries)::value_type::first);
        ASSERT_NE(same, entries.end());
        EXPECT_EQ(entry.value(), same->second);
      }
    };
    check();
    head->Close();
    check();
  }
}

// Where there are table files, each held record would keep something of them, too.
TEST_F(HeadTest, ARunLiesInLevelDbsMemoryOnlyWhereAllOfTheHeadDoes) {
  auto head = Open(1);
  EXPECT_TRUE(IsHeld(head.get(), 1, 10'000));
  EXPECT_FALSE(IsHeld(head.get(), 2, 100)) << "not worth an iterator";
  EXPECT_FALSE(IsHeld(head.get(), 3, 2 * kHeadBytes)) << "fills the buffer";
  head->AddBytes(2 * kHeadBytes);
  EXPECT_TRUE(IsHeld(head.get(), 4, 10'000));
  head->AddBytes(1);
  EXPECT_FALSE(IsHeld(head.get(), 5, 10'000)) << "it may be full";
  head = nullptr;
  EXPECT_FALSE(IsHeld(Open(1).get(), 6, 10'000)) << "it had something when it was opened";
}

// LevelDB's own buffer is at most 1 GiB, and its smallest where more than an int is asked for.
TEST_F(HeadTest, TheLargestHeadIsInMemoryToo) {
  const auto head = Open(1, 1u << 30);
  for (int i = 0; i < 40; ++i) Put(head.get(), std::to_string(i), std::string(10'000, 'v'));
  EXPECT_FALSE(HasTableFile(1));
}

TEST_F(HeadTest, ItsAgeIsThatOfItsFirstBytes) {
  const auto head = Open(1);
  Put(head.get(), "a", "1");
  const auto since = head->since();
  EXPECT_LE(since, std::chrono::steady_clock::now());
  Put(head.get(), "b", "2");
  EXPECT_EQ(head->since(), since);
  EXPECT_EQ(head->bytes(), 4u);
}

TEST_F(HeadTest, TimesOfATableCoverAllThatCame) {
  const auto head = Open(1);
  head->CoverTimes({{7, {10, 20}}, {8, {1, 2}}});
  head->CoverTimes({{7, {15, 40}}});
  head->CoverTimes({{7, {5, 6}}});
  EXPECT_EQ(head->TimesOf(7)->from, 5);
  EXPECT_EQ(head->TimesOf(7)->to, 40);
  EXPECT_EQ(head->TimesOf(8)->to, 2);
}

TEST_F(HeadTest, AHeadThatWasReopenedKnowsItsBytesButNotItsTimes) {
  Put(Open(1).get(), "a", std::string(1000, 'v'));
  const auto head = Open(1);
  EXPECT_GE(head->bytes(), 1000u);
  EXPECT_FALSE(head->TimesOf(7)) << "nobody wrote them down";
}

TEST_F(HeadTest, ReadersSeeWhatWasPublished) {
  const auto head = Open(1);
  Put(head.get(), "a", "old");
  HeadSnapshot snapshot = head->TakeSnapshot();
  head->Publish(&snapshot);
  Put(head.get(), "a", "new");
  EXPECT_EQ(Get(head.get(), head->published(), "a"), "old");
  snapshot = head->TakeSnapshot();
  head->Publish(&snapshot);
  EXPECT_EQ(Get(head.get(), head->published(), "a"), "new");
  EXPECT_EQ(Get(head.get(), snapshot, "a"), "old") << "what was replaced is handed back";
}

TEST_F(HeadTest, AFullHeadIsStillInItsLogAlone) {
  const auto head = Open(1);
  for (int i = 0; head->bytes() < kHeadBytes; ++i) {
    Put(head.get(), std::to_string(i), std::string(20, 'v'));
  }
  EXPECT_FALSE(HasTableFile(1)) << "nothing was compacted";
}

TEST_F(HeadTest, ThatItIsClosedIsKeptOnDisk) {
  {
    const auto head = Open(1);
    EXPECT_FALSE(head->IsClosed().value());
    ASSERT_TRUE(head->MarkClosed());
    EXPECT_TRUE(head->IsClosed().value());
  }
  EXPECT_TRUE(Open(1)->IsClosed().value());
}

TEST_F(HeadTest, ADroppedHeadGoesWithItsLastHolder) {
  auto head = Open(1);
  auto reader = head;
  head->Drop();
  head.reset();
  EXPECT_EQ(Listed(), std::vector<uint64_t>{1});
  reader.reset();
  EXPECT_TRUE(Listed().empty());
}

TEST_F(HeadTest, AHeadThatWasNotDroppedStays) {
  Open(1).reset();
  EXPECT_EQ(Listed(), std::vector<uint64_t>{1});
}

TEST_F(HeadTest, HeadsAreListedInOrderOfTheirNumbers) {
  for (const uint64_t number : {12u, 3u, 1'000'000u}) Open(number);
  EXPECT_EQ(Listed(), (std::vector<uint64_t>{3, 12, 1'000'000}));
}

TEST_F(HeadTest, OnlyWhatIsNamedAsAHeadIsListed) {
  Open(3);
  for (const char* stray : {"7", "0000003", "000003.old", "x", "18446744073709551616"}) {
    std::ofstream(directory_ + "/" + stray) << "x";
  }
  EXPECT_EQ(Listed(), std::vector<uint64_t>{3});
}

TEST_F(HeadTest, WithoutADirectoryThereAreNone) {
  EXPECT_TRUE(ListHeads(&env_, dir_.path() + "/nothing").value().empty());
}

TEST_F(HeadTest, ARemovedHeadLeavesNothing) {
  Open(1).reset();
  RemoveHead(&env_, directory_, 1);
  EXPECT_FALSE(fs::exists(HeadPath(directory_, 1)));
  RemoveHead(&env_, directory_, 1);
}

TEST_F(HeadTest, AHeadWhoseCurrentCannotBeRemovedStaysWhole) {
  Open(1).reset();
  const auto count = [&] {
    const fs::directory_iterator files(HeadPath(directory_, 1));
    return std::distance(fs::begin(files), fs::end(files));
  };
  const auto before = count();
  FaultEnv disk;
  disk.KeepFiles("CURRENT");
  RemoveHead(&disk, directory_, 1);
  EXPECT_EQ(count(), before);
  disk.KeepFiles("");
  RemoveHead(&disk, directory_, 1);
  EXPECT_FALSE(fs::exists(HeadPath(directory_, 1)));
}

// What a head's table files hold is read as it was written, or not at all.
class DamagedHeadTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    for (const char* row : {"a", "b", "c"}) {
      ASSERT_TRUE(Write("H", row, 5, {{"A", "x", Value::String("text")}}));
      ASSERT_TRUE(Write("L", row, 5, {{"A", "x", Value::String("text")}}));
    }
    Reopen();  // The head's log becomes a table file.
    history_ = Read("H");
    latest_ = Read("L");
    Close();
    for (const auto& file : fs::recursive_directory_iterator(config().path + "/heads")) {
      if (file.path().extension() == ".ldb") table_file_ = file.path();
    }
    ASSERT_FALSE(table_file_.empty());
  }

  void Flip(uint64_t at) {
    std::fstream bytes(table_file_, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const auto flipped = static_cast<char>(bytes.get() ^ 4);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(flipped);
  }

  // A copy is opened: who opens a store writes to it.
  void ExpectNoWrongValue() {
    StoreHarness copy;
    fs::copy(config().path, copy.config().path, fs::copy_options::recursive);
    if (!copy.TryOpen()) return;
    ASSERT_TRUE(copy.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    const Result<Rows> history = copy.TryRead("H");
    if (history) {
      EXPECT_EQ(*history, history_);
    }
    const Result<Rows> latest = copy.TryRead("L");
    if (latest) {
      EXPECT_EQ(*latest, latest_);
    }
  }

  fs::path table_file_;
  Rows history_;
  Rows latest_;
};

TEST_F(DamagedHeadTest, AFlippedBitGivesNoWrongValue) {
  const uint64_t size = fs::file_size(table_file_);
  for (uint64_t at = 0; at < size && !HasFailure(); at += 3) {
    SCOPED_TRACE(at);
    Flip(at);
    ExpectNoWrongValue();
    Flip(at);
  }
}

}  // namespace
}  // namespace tallyd

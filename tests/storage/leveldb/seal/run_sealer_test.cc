// A head's runs become the files that its entries would become one by one.
#include "storage/leveldb/seal/run_sealer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "storage/leveldb/read/block_source.h"
#include "storage/leveldb/seal/rewrite.h"
#include "tests/storage/leveldb/history_maker.h"

namespace tallyd {
namespace {

class Sealed : public HistoryMaker {
 public:
  explicit Sealed(bool in_groups) : in_groups_(in_groups) {
    Open();
    state_.next_file = 1000;
    EXPECT_TRUE(state_.sets.Load(kTable, set().id, set().columns));
  }

  void Add(const std::vector<HistoryEntry>& entries) {
    ASSERT_TRUE(in_groups_ ? TryPutGroup(entries) : TryPut(entries));
  }
  void Delete(const DeleteSpec& what, uint64_t sequence) {
    database().ChangeView([&](View* view) {
      view->AddDeletes({std::make_shared<const DeleteRange>(kTable, sequence, what)});
    });
  }
  // "row@time=value/sequence" in the order of the files.
  std::vector<std::string> Seal(TimeUs now = 0) {
    const Result<SealedHead> sealed = TrySeal(now);
    EXPECT_TRUE(sealed);
    return sealed ? Read(*sealed) : std::vector<std::string>();
  }
  // Of blocks, sealed or not.
  size_t CountFiles() const {
    const std::filesystem::recursive_directory_iterator all(path());
    return static_cast<size_t>(std::ranges::count_if(
        all, [](const auto& file) { return file.path().extension() == ".blocks"; }));
  }
  Result<SealedHead> TrySeal(TimeUs now) {
    StoredCatalogue stored;
    stored.tables[kTable] = *table();
    stored.next_table = kTable + 1;
    state_.catalogue.Reload(std::move(stored));
    BeginHead();
    Pacer pacer(1, [] { return true; });
    RewriteInput input;
    input.database = &database();
    input.state = &state_;
    input.pacer = &pacer;
    input.stopping = [] { return false; };
    input.now = now;
    input.window_us = kUsPerDay;
    const auto lease = NewLease();
    EXPECT_EQ(LeaseAccess(lease.get()).RunsOf(0, kTable) != nullptr, in_groups_);
    return SealOldestHead(input, lease.get());
  }

 private:
  std::vector<std::string> Read(const SealedHead& sealed) {
    std::vector<std::string> read;
    ColumnPlan plan(table(), state_.sets, 0);
    for (const BlockFilePtr& file : sealed.files) {
      BlockSource source(file, &plan, {0, kMaxTimeUs + 1});
      WholeEntry entry;
      for (Status moved = source.SeekRow(""); moved && source.valid(); moved = source.Next()) {
        EXPECT_TRUE(source.Read(&entry));
        read.push_back(fmt::format("{}@{}={}/{}", entry.row_key, entry.time,
                                   ToText(entry.values[0]), entry.sequence));
      }
    }
    EXPECT_EQ(read.size(), sealed.entries);
    read.push_back(fmt::format("dropped {} {}", sealed.dropped.aged, sealed.dropped.overwritten));
    return read;
  }

  const bool in_groups_;
  EngineState state_;
};

class RunSealerTest : public ::testing::TestWithParam<int> {
 protected:
  // Many groups, whose runs are merged; rows with several entries, of one time, too.
  void Fill(Sealed* one_by_one, Sealed* in_groups) {
    std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
    uint64_t sequence = 0;
    for (int group = 0; group < 40; ++group) {
      std::vector<HistoryEntry> entries;
      for (size_t i = 1 + random() % 60; i > 0; --i) {
        std::string row = fmt::format("r{}", random() % 20);
        if (random() % 10 == 0) row.push_back('\0');
        const auto time = static_cast<TimeUs>(random() % 3 * kUsPerDay + random() % 40);
        entries.push_back({row, time, ++sequence, static_cast<int64_t>(random() % 1000)});
      }
      one_by_one->Add(entries);
      in_groups->Add(entries);
    }
  }

  Sealed one_by_one_{false};
  Sealed in_groups_{true};
};

TEST_P(RunSealerTest, RunsBecomeWhatEntriesOneByOneBecome) {
  Fill(&one_by_one_, &in_groups_);
  EXPECT_EQ(in_groups_.Seal(), one_by_one_.Seal());
}

TEST_P(RunSealerTest, WhatIsPastItsAgeIsLeftOut) {
  for (Sealed* const head : {&one_by_one_, &in_groups_}) head->rules().max_age_us = kUsPerDay;
  Fill(&one_by_one_, &in_groups_);
  EXPECT_EQ(in_groups_.Seal(2 * kUsPerDay + 20), one_by_one_.Seal(2 * kUsPerDay + 20));
}

TEST_P(RunSealerTest, VersionsAreCounted) {
  for (Sealed* const head : {&one_by_one_, &in_groups_}) head->rules().max_versions = 2;
  Fill(&one_by_one_, &in_groups_);
  EXPECT_EQ(in_groups_.Seal(), one_by_one_.Seal());
}

TEST_P(RunSealerTest, WhatIsDeletedIsLeftOut) {
  Fill(&one_by_one_, &in_groups_);
  DeleteSpec what;
  what.rows = {"r1", "r3"};
  for (Sealed* const head : {&one_by_one_, &in_groups_}) head->Delete(what, 600);
  EXPECT_EQ(in_groups_.Seal(), one_by_one_.Seal());
}

TEST(RunSealerErrorTest, AnEntryThatIsMalformedIsSealedByNobody) {
  const std::string tag(1, static_cast<char>(EntryTag::kBySet));
  const std::string set = tag + static_cast<char>(Sealed(true).set().id);
  const std::vector<std::string> malformed = {set,          set + "\x30\x30", set + "\xb0",
                                              set + "\x35", set + "\x07",     tag + "\x63\x30"};
  for (const std::string& stored : malformed) {
    Sealed head(true);
    std::vector<HistoryEntry> entries;
    for (int i = 0; i < 10'000; ++i) entries.push_back({fmt::format("q{:05}", i), 10, 1, 5});
    entries.push_back({"r2", 10, 2, 5, stored});
    entries.push_back({"r3", 10, 3, 5});
    head.Add(entries);
    const Result<SealedHead> sealed = head.TrySeal(0);
    ASSERT_FALSE(sealed) << stored;
    EXPECT_EQ(sealed.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(sealed.error().message().find("row \"r2\""), std::string::npos);
    EXPECT_EQ(head.CountFiles(), 0u);
  }
}

// Whoever looks at each entry reads it in another way, as does what came one by one.
TEST(RunSealerErrorTest, AnAbsentValueIsDamageHoweverItIsRead) {
  const std::string by_set = std::string(1, static_cast<char>(EntryTag::kBySet)) +
                             static_cast<char>(Sealed(true).set().id) + "\x07";
  const std::string by_name("\x02\x01\x00\x01x\x07", 6);
  for (const std::string& stored : {by_set, by_name}) {
    for (const bool in_groups : {false, true}) {
      for (const bool twice : {false, true}) {
        Sealed head(in_groups);
        std::vector<HistoryEntry> entries = {{"r1", 10, 1, 5}, {"r2", 10, 2, 5, stored}};
        if (twice) entries.push_back({"r2", 10, 3, 5});
        head.Add(entries);
        const Result<SealedHead> sealed = head.TrySeal(0);
        ASSERT_FALSE(sealed) << in_groups << twice;
        EXPECT_EQ(sealed.error().code(), ErrorCode::kCorruption);
      }
    }
  }
}

TEST(RunSealerFormsTest, EntriesOfEachFormAreSealedAndThoseWithoutAValueAreNot) {
  Sealed head(true);
  const std::string sparse =
      std::string(1, static_cast<char>(EntryTag::kBySetSparse)) + static_cast<char>(head.set().id);
  head.Add({{"r1", 10, 1, 5},
            {"r2", 10, 2, 0, sparse + "\x07"},
            {"r3", 10, 3, 0, sparse + "\x60"},
            {"r4", 10, 4, 0, std::string("\x02\x01\x00\x01x\x80\x01", 7)}});
  EXPECT_EQ(head.Seal(),
            (std::vector<std::string>{"r1@10=5/4", "r3@10=3/4", "r4@10=4/4", "dropped 0 0"}));
}

TEST_P(RunSealerTest, ALongRowIsSealedInSeveralSteps) {
  std::vector<HistoryEntry> entries;
  const TimeUs writes_each = 1 + GetParam() % 2;
  // Some end with a step.
  const int count = GetParam() < 3 ? 1024 : 1500;
  for (int i = 0; i < count; ++i) {
    entries.push_back({"long", i / writes_each, static_cast<uint64_t>(i) + 1, i});
  }
  one_by_one_.Add(entries);
  in_groups_.Add(entries);
  const std::vector<std::string> sealed = in_groups_.Seal();
  EXPECT_EQ(sealed.size(), static_cast<size_t>(count / writes_each) + 1);
  EXPECT_EQ(sealed, one_by_one_.Seal());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RunSealerTest, ::testing::Range(0, 5));

}  // namespace
}  // namespace tallyd

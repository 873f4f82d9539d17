#include "storage/leveldb/seal/rewrite_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

struct Written {
  std::string row;
  TimeUs time = 0;
  uint64_t sequence = 0;
  std::vector<std::pair<std::string, int64_t>> cells;
};

// Entries from memory.
class ListSource final : public EntrySource {
 public:
  explicit ListSource(std::vector<Written> entries) : entries_(std::move(entries)) { Load(); }
  Status SeekRow(std::string_view) override { return {}; }
  Status SeekRowBefore(std::string_view) override { return {}; }
  Status Next() override {
    ++at_;
    Load();
    return {};
  }
  Status SkipNewer(TimeUs) override { return {}; }
  Status AddTo(RowAssembler*) override { return {}; }
  Status Read(WholeEntry* entry) override {
    *entry = {};
    entry->row_key = entries_[at_].row;
    entry->time = time_;
    entry->sequence = sequence_;
    for (const auto& [name, value] : entries_[at_].cells) {
      entry->names.push_back({0, name});
      entry->values.push_back(Value::Int(value));
    }
    for (const Column& name : entry->names) entry->columns.push_back(name.ref());
    return {};
  }

 private:
  void Load() {
    valid_ = at_ < entries_.size();
    if (!valid_) return;
    row_key_ = entries_[at_].row;
    time_ = entries_[at_].time;
    sequence_ = entries_[at_].sequence;
  }
  const std::vector<Written> entries_;
  size_t at_ = 0;
};

// Of one row, time and sequence, or from one to another.
BlockFilePtr FileOf(const std::string& first, const std::string& last, TimeUs from, TimeUs to,
                    uint64_t first_sequence, uint64_t last_sequence) {
  BlockFileInfo info;
  info.first_key = first;
  info.last_key = last;
  info.min_time = from;
  info.max_time = to;
  info.min_sequence = first_sequence;
  info.max_sequence = last_sequence;
  return std::make_shared<const BlockFile>(nullptr, info);
}

TEST(FilesCoveredByTest, OtherFilesAreThoseThatShareRowsAndTimesAndHaveAnEarlierCommit) {
  const View::Files from = {FileOf("b", "c", 100, 110, 10, 20), FileOf("d", "e", 105, 120, 5, 15)};
  const View::Files covered = {FileOf("a", "b", 90, 100, 1, 2), FileOf("e", "f", 120, 130, 19, 99),
                               FileOf("a", "z", 0, 999, 1, 99), FileOf("d", "d", 101, 101, 18, 18)};
  View::Files all = {from[0],
                     FileOf("f", "g", 105, 106, 1, 2),
                     FileOf("a", "az", 105, 106, 1, 2),
                     FileOf("c", "c", 121, 130, 1, 2),
                     FileOf("c", "c", 90, 99, 1, 2),
                     FileOf("c", "c", 105, 106, 20, 30),
                     from[1]};
  all.insert(all.end(), covered.begin(), covered.end());
  EXPECT_EQ(FilesCoveredBy(from, all), covered);
  EXPECT_TRUE(FilesCoveredBy(from, from).empty());
  View::Files later = {all[5]};
  later.insert(later.end(), covered.begin(), covered.end());
  EXPECT_EQ(FilesCoveredBy(from, all, true), later) << "an input counts, whichever came first";
}

TEST(FilesCoveredByTest, OfAHeadTheTimesTellAsFarAsTheyAreKnown) {
  const View::Files all = {FileOf("a", "b", 90, 99, 1, 2), FileOf("a", "b", 90, 100, 1, 2),
                           FileOf("a", "b", 119, 130, 1, 2), FileOf("a", "b", 120, 130, 1, 2)};
  EXPECT_EQ(FilesCoveredBy(TimeRange{100, 120}, all), (View::Files{all[1], all[2]}));
  EXPECT_EQ(FilesCoveredBy(std::nullopt, all), all);
  EXPECT_EQ(FilesCoveredBy(TimeRange{0, 0}, all), all);
}

class KeptEntriesTest : public ::testing::Test, public BlockMaker {
 protected:
  void SetFamily(const Family& rules) {
    TableInfo changed = *table();
    changed.families[0].rules = rules;
    configured_ = std::make_shared<const TableInfo>(changed);
  }
  void Delete(uint64_t sequence, const DeleteSpec& what) {
    deletes_.insert(deletes_.begin(), std::make_shared<const DeleteRange>(3, sequence, what));
  }
  // "row@time/sequence x=1 y=2", of all that is kept.
  std::vector<std::string> Keep(std::vector<std::vector<Written>> places,
                                std::optional<uint64_t> head = std::nullopt,
                                View::Files others = {}) {
    ColumnPlan plan(configured_ ? configured_ : table(), sets(), kNow);
    KeptEntries kept(&plan, deletes_, std::move(others), head);
    std::vector<std::unique_ptr<ListSource>> sources;
    std::vector<EntrySource*> all;
    for (auto& entries : places) {
      sources.push_back(std::make_unique<ListSource>(std::move(entries)));
      all.push_back(sources.back().get());
    }
    kept.Assign(all);
    std::vector<std::string> texts;
    while (*kept.Next()) {
      const WholeEntry& entry = kept.entry();
      texts.push_back(fmt::format("{}@{}/{}", entry.row_key, entry.time, entry.sequence));
      for (size_t i = 0; i < entry.values.size(); ++i) {
        if (entry.values[i].is_null()) continue;
        texts.back() += fmt::format(" {}={}", entry.column(i).qualifier, ToText(entry.values[i]));
      }
    }
    return texts;
  }

  static constexpr TimeUs kNow = 1000;

 private:
  TablePtr configured_;
  DeleteList deletes_;
};

using Texts = std::vector<std::string>;

TEST_F(KeptEntriesTest, WhatALaterWriteCoversGoesAndTheRestKeepsItsSequence) {
  EXPECT_EQ(Keep({{{"r", 5, 50, {{"x", 1}, {"y", 1}}}}, {{"r", 5, 120, {{"x", 2}}}}}),
            (Texts{"r@5/120 x=2", "r@5/50 y=1"}));
}

TEST_F(KeptEntriesTest, EntriesOfAHeadBecomeOneForEachRowAndTime) {
  EXPECT_EQ(
      Keep({{{"r", 5, 9, {{"x", 3}}}, {"r", 5, 8, {{"b", 2}, {"x", 2}}}, {"r", 4, 7, {{"x", 1}}}}},
           12),
      (Texts{"r@5/12 b=2 x=3", "r@4/12 x=1"}));
}

TEST_F(KeptEntriesTest, DeletesHideWhatWasCommittedBeforeThem) {
  DeleteSpec what;
  what.rows = {"r", "s"};
  Delete(100, what);
  EXPECT_EQ(Keep({{{"r", 5, 120, {{"x", 2}}}, {"r", 5, 50, {{"y", 1}}}, {"s", 5, 50, {{"x", 1}}}}}),
            (Texts{"r@5/120 x=2", "s@5/50 x=1"}));
}

TEST_F(KeptEntriesTest, VersionsBeyondTheLimitGoWhereEnoughNewerOnesAreAtHand) {
  Family rules;
  rules.max_versions = 2;
  SetFamily(rules);
  EXPECT_EQ(Keep({{{"r", 9, 1, {{"x", 1}}}, {"r", 7, 1, {{"x", 2}}}},
                  {{"r", 8, 2, {{"x", 3}}}, {"r", 6, 2, {{"y", 4}}}}}),
            (Texts{"r@9/1 x=1", "r@8/2 x=3", "r@6/2 y=4"}));
}

TEST_F(KeptEntriesTest, CellsPastTheirAgeGo) {
  Family rules;
  rules.max_age_us = 10;
  SetFamily(rules);
  EXPECT_EQ(Keep({{{"r", kNow - 10, 1, {{"x", 1}}}, {"r", kNow - 11, 1, {{"x", 2}}}}}),
            (Texts{"r@990/1 x=1"}));
}

TEST_F(KeptEntriesTest, WhatHasExpiredStaysWhereItMayCoverAnOlderWriteElsewhere) {
  Family rules;
  rules.max_versions = 1;
  SetFamily(rules);
  const auto file_of = [](TimeUs time, uint64_t sequence, const std::string& row) {
    BlockFileInfo info;
    info.min_time = info.max_time = time;
    info.min_sequence = info.max_sequence = sequence;
    info.first_key = info.last_key = row;
    return std::make_shared<const BlockFile>(nullptr, info);
  };
  const std::vector<Written> entries = {{"r", 9, 20, {{"x", 1}}},
                                        {"r", 7, 20, {{"x", 2}}},
                                        {"r", 6, 20, {{"x", 3}}},
                                        {"r", 5, 20, {{"x", 4}}},
                                        {"r", 4, 20, {{"x", 5}}}};
  EXPECT_EQ(Keep({entries}, std::nullopt,
                 {file_of(7, 10, "r"), file_of(6, 30, "r"), file_of(5, 10, "s")}),
            (Texts{"r@9/20 x=1", "r@7/20 x=2"}));
}

class FoldedEntriesTest : public KeptEntriesTest {
 protected:
  FoldedEntriesTest() { SetFamily(Summed()); }
  static Family Summed() {
    Family rules;
    rules.aggregate = Aggregate::kSum;
    return rules;
  }
};

TEST_F(FoldedEntriesTest, TheInputsOfACellAreOneWithTheGreatestSequence) {
  EXPECT_EQ(Keep({{{"r", 5, 50, {{"x", 1}, {"y", 7}}}, {"r", 4, 50, {{"x", 9}}}},
                  {{"r", 5, 120, {{"x", 2}}}},
                  {{"r", 5, 80, {{"x", 4}, {"z", 8}}}}}),
            (Texts{"r@5/120 x=7", "r@5/80 z=8", "r@5/50 y=7", "r@4/50 x=9"}));
}

TEST_F(FoldedEntriesTest, AHotCellOfAHeadIsOneEntry) {
  std::vector<Written> inputs;
  for (uint64_t i = 1000; i > 0; --i)
    inputs.push_back({"r", 5, i, {{"x", static_cast<int64_t>(i)}}});
  inputs.push_back({"r", 4, 1, {{"x", 1}}});
  EXPECT_EQ(Keep({inputs}, 1000), (Texts{"r@5/1000 x=500500", "r@4/1000 x=1"}));
}

TEST_F(FoldedEntriesTest, ADeleteBetweenTwoInputsHidesTheEarlier) {
  DeleteSpec what;
  what.rows = {"r", "s"};
  Delete(100, what);
  const std::vector<std::vector<Written>> places = {
      {{"r", 5, 120, {{"x", 2}}}, {"r", 5, 50, {{"x", 1}}}}, {{"r", 5, 101, {{"x", 4}}}}};
  EXPECT_EQ(Keep(places), (Texts{"r@5/120 x=6"}));
  EXPECT_EQ(Keep({places[0]}, 130), (Texts{"r@5/130 x=2"}));
}

TEST_F(FoldedEntriesTest, AnExpiredCellStaysWholeWhereAnotherInputMayBeElsewhere) {
  Family rules = Summed();
  rules.max_age_us = 10;
  SetFamily(rules);
  const std::vector<std::vector<Written>> places = {{{"r", 7, 20, {{"x", 2}}}},
                                                    {{"r", 7, 10, {{"x", 1}}}}};
  EXPECT_EQ(Keep(places), Texts());
  EXPECT_EQ(Keep(places, std::nullopt, {FileOf("q", "s", 7, 7, 30, 30)}), (Texts{"r@7/20 x=3"}));
}

TEST_F(FoldedEntriesTest, VersionsCountTimesAndNotInputs) {
  Family rules = Summed();
  rules.max_versions = 1;
  SetFamily(rules);
  EXPECT_EQ(Keep({{{"r", 9, 4, {{"x", 1}}}, {"r", 9, 3, {{"x", 2}}}, {"r", 8, 2, {{"x", 4}}}}}),
            (Texts{"r@9/4 x=3"}));
}

TEST_F(KeptEntriesTest, ASourceIsAloneUntilTheNextRowOfTheOthers) {
  ColumnPlan plan(table(), sets(), kNow);
  KeptEntries kept(&plan, {}, {}, std::nullopt);
  ListSource one({{"a", 1, 1, {{"x", 1}}}, {"c", 1, 1, {{"x", 1}}}});
  ListSource two({{"b", 1, 2, {{"x", 1}}}, {"c", 1, 2, {{"x", 2}}}});
  kept.Assign({&one, &two});
  std::string bound;
  TimeUs newer_than = 0;
  EXPECT_EQ(kept.Alone(&bound, &newer_than), &one);
  EXPECT_EQ(bound, "b");
  ASSERT_TRUE(*kept.Next());
  EXPECT_EQ(kept.Alone(&bound, &newer_than), &two);
  EXPECT_EQ(bound, "c");
  ASSERT_TRUE(*kept.Next());
  EXPECT_EQ(kept.Alone(&bound, &newer_than), nullptr) << "both have c";
  ASSERT_TRUE(*kept.Next());
  EXPECT_EQ(kept.Alone(&bound, &newer_than), nullptr) << "what was read last may cover cells of it";
  EXPECT_FALSE(*kept.Next());
}

TEST_F(KeptEntriesTest, InARowOfSeveralASourceIsAloneUntilTheNextTimeOfTheOthers) {
  ColumnPlan plan(table(), sets(), kNow);
  KeptEntries kept(&plan, {}, {}, std::nullopt);
  ListSource one({{"a", 9, 2, {{"x", 1}}}, {"a", 8, 2, {{"x", 1}}}, {"a", 5, 2, {{"x", 1}}}});
  ListSource two({{"a", 7, 1, {{"x", 1}}}, {"a", 5, 1, {{"x", 2}}}});
  kept.Assign({&one, &two});
  std::string bound;
  TimeUs newer_than = 0;
  EXPECT_EQ(kept.Alone(&bound, &newer_than), &one);
  EXPECT_EQ(bound, std::string("a\0", 2));
  EXPECT_EQ(newer_than, 7);
  ASSERT_TRUE(*kept.Next());
  ASSERT_TRUE(*kept.Next());
  EXPECT_EQ(kept.Alone(&bound, &newer_than), &two);
  EXPECT_EQ(newer_than, 5);
  ASSERT_TRUE(*kept.Next());
  EXPECT_EQ(kept.Alone(&bound, &newer_than), nullptr) << "of one time the later write counts";
}

class WindowWriterTest : public ::testing::Test, public BlockMaker {
 protected:
  WindowWriterTest() : writer_({&shelf(), table(), 5, 100, &next_}) {}

  void Add(TimeUs time, uint64_t sequence = 7) {
    WholeEntry entry;
    entry.row_key = "r" + std::to_string(10'000 + rows_++);
    entry.time = time;
    entry.sequence = sequence;
    entry.set = &set();
    entry.values = {Value::Int(time)};
    ASSERT_TRUE(writer_.Add(entry));
  }
  std::vector<BlockFilePtr> Finish() {
    std::vector<BlockFilePtr> files;
    auto written = writer_.Complete();
    EXPECT_TRUE(written);
    for (const auto& writer : *written) {
      EXPECT_TRUE(writer->Sync());
      files.push_back(writer->Finish());
    }
    return files;
  }

  std::atomic<uint64_t> next_{1};
  WindowWriter writer_;
  int rows_ = 0;
};

TEST_F(WindowWriterTest, EachWindowHasAFile) {
  for (const TimeUs time : {0, 99, 100, 250}) Add(time);
  const auto files = Finish();
  ASSERT_EQ(files.size(), 3u);
  std::set<TimeUs> windows;
  for (const BlockFilePtr& file : files) {
    windows.insert(file->info().window);
    EXPECT_EQ(file->info().width, 100);
    EXPECT_EQ(file->info().deletes, 5u);
    EXPECT_EQ(file->info().max_sequence, 7u);
    EXPECT_EQ(file->info().table, 3u);
  }
  EXPECT_EQ(windows, (std::set<TimeUs>{0, 100, 200}));
}

TEST_F(WindowWriterTest, AStrayTimeWidensNobodysWindow) {
  Add(10);
  Add(4'102'444'800'000'000);
  Add(20);
  for (const BlockFilePtr& file : Finish()) EXPECT_EQ(file->info().width, 100);
}

TEST_F(WindowWriterTest, WhatIsInMoreWindowsThanMayBeOpenGoesToWiderOnes) {
  constexpr int kWindows = 500;
  for (int i = 0; i < kWindows; ++i) Add(i * 100 + 50);
  const auto files = Finish();
  EXPECT_LT(files.size(), 60u);
  uint64_t entries = 0;
  for (const BlockFilePtr& file : files) {
    const BlockFileInfo& info = file->info();
    entries += info.entries;
    EXPECT_EQ(info.window % info.width, 0);
    EXPECT_GE(info.min_time, info.window);
    EXPECT_LT(info.max_time, info.window + info.width);
  }
  EXPECT_EQ(entries, uint64_t{kWindows});
}

TEST_F(WindowWriterTest, NumbersAreGivenOnce) {
  Add(10);
  Add(110);
  const auto files = Finish();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_NE(files[0]->info().number, files[1]->info().number);
}

}  // namespace
}  // namespace tallyd

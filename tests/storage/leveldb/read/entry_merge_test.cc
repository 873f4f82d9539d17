// Rows of a history table out of heads and block files, forwards, backwards, and in ranges.
#include "storage/leveldb/read/entry_merge.h"

#include <gtest/gtest.h>

#include "tests/storage/leveldb/read/merge_model.h"

namespace tallyd {
namespace {

class EntryMergeTest : public ::testing::Test, public HistoryMaker {
 protected:
  EntryMergeTest() { Open(); }

  EntryMerge Merge(const ScanSpec& spec = {}, const DeleteList& deletes = {}) {
    return {table(), spec, sets(), NewLease(), deletes};
  }
  static std::string RowOf(const EntryMerge& merge) {
    std::string line = ScannedRow(merge.row().key);
    for (const RowPart& part : merge.row().parts) {
      for (const CellView& cell : merge.row().CellsOf(part)) AddCell(part.time, cell.value, &line);
    }
    return line;
  }
  static ScannedRows Read(EntryMerge* merge) {
    ScannedRows rows;
    while (true) {
      const Result<bool> more = merge->NextRow();
      EXPECT_TRUE(more);
      if (!more || !*more) return rows;
      rows.push_back(RowOf(*merge));
    }
  }
  ScannedRows Scan(const ScanSpec& spec = {}, const DeleteList& deletes = {}) {
    EntryMerge merge = Merge(spec, deletes);
    return Read(&merge);
  }
};

class EntryMergeRandomTest : public ::testing::TestWithParam<unsigned>, public HistoryMaker {};

TEST_P(EntryMergeRandomTest, RowsAreThoseOfWhatWasWritten) {
  Open();
  std::mt19937_64 random(GetParam());
  const RandomEntries history(random, this);
  for (int round = 0; round < 20; ++round) {
    ScanSpec spec = RandomSpec(random);
    spec.reverse = random() % 2 == 0;
    spec.keys_only = random() % 5 == 0;
    EntryMerge merge(table(), spec, sets(), NewLease(), history.deletes);
    ScannedRows rows;
    while (merge.NextRow().value()) {
      rows.push_back(ScannedRow(merge.row().key));
      for (const RowPart& part : merge.row().parts) {
        for (const CellView& cell : merge.row().CellsOf(part)) {
          AddCell(part.time, cell.value, &rows.back());
        }
      }
    }
    ASSERT_EQ(rows, ExpectedRows(history.all, spec, history.deletes));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EntryMergeRandomTest, ::testing::Range(1u, 21u));

TEST_F(EntryMergeTest, AnEmptyTableHasNoRows) {
  EXPECT_EQ(Scan(), ScannedRows{});
  ScanSpec backwards;
  backwards.reverse = true;
  EXPECT_EQ(Scan(backwards), ScannedRows{});
}

TEST_F(EntryMergeTest, TheLaterCommitCountsWhereverItIs) {
  MakeFile({{"a", 10, 5, 1}});
  MakeFile({{"a", 10, 7, 2}, {"b", 10, 7, 2}});
  Put({{"b", 10, 9, 3}});
  EXPECT_EQ(Scan(), (ScannedRows{"a:10=2", "b:10=3"}));
}

TEST_F(EntryMergeTest, ASkipGoesToTheFirstRowAtOrAfterTheKey) {
  MakeFile({{"a", 1, 1, 1}, {"c", 1, 1, 1}});
  Put({{"b", 1, 2, 1}, {"d", 1, 2, 1}});
  EntryMerge merge = Merge();
  merge.SkipTo("b");
  ASSERT_TRUE(merge.NextRow().value());
  EXPECT_EQ(merge.row().key, "b");
  merge.SkipTo("a");
  ASSERT_TRUE(merge.NextRow().value());
  EXPECT_EQ(merge.row().key, "c") << "never back";
  merge.SkipTo("cc");
  EXPECT_EQ(Read(&merge), (ScannedRows{"d:1=1"}));
}

TEST_F(EntryMergeTest, BackwardsASkipGoesToTheLastRowAtOrBeforeTheKey) {
  MakeFile({{"a", 1, 1, 1}, {"c", 1, 1, 1}});
  Put({{"b", 1, 2, 1}, {"d", 1, 2, 1}});
  ScanSpec spec;
  spec.reverse = true;
  EntryMerge merge = Merge(spec);
  ASSERT_TRUE(merge.NextRow().value());
  merge.SkipTo("b");
  EXPECT_EQ(Read(&merge), (ScannedRows{"b:1=1", "a:1=1"}));
}

TEST_F(EntryMergeTest, ItSeesOnlyWhatWasThereWhenItsLeaseWasTaken) {
  Put({{"a", 1, 1, 1}});
  EntryMerge merge = Merge();
  Put({{"b", 1, 2, 1}});
  MakeFile({{"c", 1, 3, 1}});
  EXPECT_EQ(Read(&merge), (ScannedRows{"a:1=1"}));
}

TEST_F(EntryMergeTest, NewerCellsCountTowardsTheVersionsAlsoOutsideOfTheRange) {
  rules().max_versions = 1;
  Put({{"a", 20, 1, 2}, {"a", 10, 2, 1}});
  ScanSpec spec;
  spec.cells = {0, 15};
  EXPECT_EQ(Scan(spec), ScannedRows{});
}

TEST_F(EntryMergeTest, RowsPastTheirAgeAreLeftOut) {
  rules().max_age_us = 100;
  Put({{"a", 899, 1, 1}, {"b", 900, 2, 2}});
  ScanSpec spec;
  spec.now = 1000;
  EXPECT_EQ(Scan(spec), (ScannedRows{"b:900=2"}));
}

TEST_F(EntryMergeTest, ARunOfABlockEndsBeforeTheNextRowOfAnybodyElse) {
  MakeFile({{"a", 1, 1, 1}, {"c", 1, 1, 1}, {"e", 1, 1, 1}});
  Put({{"d", 1, 2, 1}});
  EntryMerge merge = Merge();
  const LeaseAccess access(merge.lease());
  std::string end;
  const Result<BlockSource*> source = merge.RunSource(access, &end);
  ASSERT_TRUE(source);
  ASSERT_NE(*source, nullptr);
  EXPECT_EQ(end, "d");
}

TEST_F(EntryMergeTest, WhereTwoHaveOneRowThereIsNoRun) {
  MakeFile({{"a", 1, 1, 1}});
  Put({{"a", 2, 2, 1}});
  EntryMerge merge = Merge();
  const LeaseAccess access(merge.lease());
  std::string end;
  EXPECT_EQ(merge.RunSource(access, &end).value(), nullptr);
}

}  // namespace
}  // namespace tallyd

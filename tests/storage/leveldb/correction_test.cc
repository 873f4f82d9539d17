// An acknowledged correction 1 -> 2 never reads 1 again, whatever is merged, expires or is deleted
// around it. Files of other widths overlap in time, and no merge sees them together.
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class CorrectionTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    clock.now = 170;
    config().seal_window_us = 100;
    Open();
  }

  void ReopenWithWindow(int64_t width) {
    config().seal_window_us = width;
    Reopen();
  }

  // The rules are of both families.
  void AdoptRules(const Family& rules) {
    Table table = MakeTable("H");
    for (Family& family : table.families) {
      const std::string name = family.name;
      family = rules;
      family.name = name;
    }
    ASSERT_TRUE(Adopt(MakeSchema({table})));
  }

  void WriteCell(const std::string& row, TimeUs time, int64_t value) {
    ASSERT_TRUE(Write("H", row, time, {{"A", "x", Value::Int(value)}}));
  }

  // 1 at 150, in a file that holds a later cell, too; then 2 at 150 in a file of another width.
  void WriteAndCorrect(bool with_newer_version) {
    WriteCell("a", 150, 1);
    WriteCell("b", 190, 1);
    ASSERT_TRUE(store().Settle());
    clock.Pass(15);
    ReopenWithWindow(1000);
    auto batch = NewBatch();
    Put(batch.get(), "H", "a", 150, {{"A", "x", Value::Int(2)}});
    if (with_newer_version) Put(batch.get(), "H", "a", 160, {{"A", "x", Value::Int(3)}});
    ASSERT_TRUE(Commit(std::move(batch)));
    ASSERT_TRUE(store().Settle());
  }

  // 2 at 150, which a newer version outdates at once.
  void CorrectAndOutdate() {
    auto batch = NewBatch();
    Put(batch.get(), "H", "a", 150, {{"A", "x", Value::Int(2)}});
    Put(batch.get(), "H", "a", 160, {{"A", "x", Value::Int(3)}});
    ASSERT_TRUE(Commit(std::move(batch)));
    ASSERT_TRUE(store().Settle());
  }

  // That version.
  void EraseNewer() {
    DeleteSpec newer;
    newer.cells = {160, 161};
    ASSERT_TRUE(Erase("H", newer));
  }

  void ExpectNoOldValue() {
    for (const auto& [row, cells] : Read("H")) {
      const auto cell = cells.find(kCell);
      EXPECT_FALSE(row == "a" && cell != cells.end() && cell->second == "1");
    }
  }

  const std::string kCell = "A:x@150";
};

// Whichever of the files are merged, and however their sequences lie.
TEST_F(CorrectionTest, ACorrectionStaysWhateverIsMerged) {
  AdoptRules({});
  WriteCell("a", 150, 1);
  ASSERT_TRUE(store().Settle());
  ReopenWithWindow(1000);
  WriteCell("a", 150, 2);
  ASSERT_TRUE(store().Settle());
  ReopenWithWindow(100);
  WriteCell("unrelated", 160, 3);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H"), (Rows{{"a", {{kCell, "2"}}}, {"unrelated", {{"A:x@160", "3"}}}}));
}

TEST_F(CorrectionTest, AVersionThatExpiredStillCoversWhatItCorrected) {
  Family newest_only;
  newest_only.max_versions = 1;
  AdoptRules(newest_only);
  WriteAndCorrect(true);
  EraseNewer();
  ExpectNoOldValue();
}

// Row and time of the corrected cell are the first or the last of all files.
TEST_F(CorrectionTest, AMergeKeepsWhatCoversTheEdgeOfAFileElsewhere) {
  Family newest_only;
  newest_only.max_versions = 1;
  AdoptRules(newest_only);
  WriteCell("a", 150, 1);
  ASSERT_TRUE(store().Settle());
  ReopenWithWindow(1000);
  CorrectAndOutdate();
  WriteCell("b", 170, 4);
  ASSERT_TRUE(store().Settle());
  EraseNewer();
  EXPECT_EQ(Read("H"), (Rows{{"a", {{kCell, "2"}}}, {"b", {{"A:x@170", "4"}}}}));
}

TEST_F(CorrectionTest, AHeadOfKnownTimesKeepsWhatCoversTheEdgeOfAFile) {
  Family newest_only;
  newest_only.max_versions = 1;
  AdoptRules(newest_only);
  WriteCell("a", 150, 1);
  ASSERT_TRUE(store().Settle());
  ReopenWithWindow(1000);
  WriteCell("z", 5000, 4);
  ASSERT_TRUE(store().Settle());  // The next head is this process's own.
  CorrectAndOutdate();
  EraseNewer();
  EXPECT_EQ(Read("H"), (Rows{{"a", {{kCell, "2"}}}, {"z", {{"A:x@5000", "4"}}}}));
}

TEST_F(CorrectionTest, AFileThatExpiredStillCoversWhatItCorrected) {
  Family short_lived;
  short_lived.max_age_us = 30;  // What is of 150 has expired when it is corrected.
  AdoptRules(short_lived);
  WriteAndCorrect(false);
  AdoptRules({});
  ExpectNoOldValue();
}

}  // namespace
}  // namespace tallyd

// Tables that are made behind their names: what readers see before, at and after the swap, and what
// a crash leaves.
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

const Table& Day() {
  static const Table day = MakeTable("DAY");
  return day;
}

Schema WithDay() {
  Schema schema = Conformance::Plain();
  schema.tables.push_back(Day());
  return schema;
}

Rows Only(const std::string& value) { return {{"r", {{"A:x@5", value}}}}; }

class Maker {
 public:
  explicit Maker(StoreVerbs* verbs) : verbs_(*verbs) {}

  TablePtr Stage() {
    const Result<TablePtr> staged = verbs_.store().StageTable(Day());
    EXPECT_TRUE(staged) << staged.error().message();
    return staged ? *staged : nullptr;
  }
  // An entry in the table that is staged.
  void Fill(const TablePtr& staged, const std::string& row, int64_t value) {
    std::unique_ptr<Batch> batch = verbs_.NewBatch();
    const std::vector<ColumnRef> columns = {{*staged->FindFamily("A"), "x"}};
    const std::vector<Value> values = {Value::Int(value)};
    batch->Put(*staged, row, 5, columns, values);
    ASSERT_TRUE(verbs_.Commit(std::move(batch)));
  }
  void Make(int64_t value) {
    const TablePtr staged = Stage();
    ASSERT_NE(staged, nullptr);
    Fill(staged, "r", value);
    const Status swapped = verbs_.store().SwapStaged(Day(), staged->id);
    ASSERT_TRUE(swapped) << swapped.error().message();
  }
  std::vector<std::string> Staged() { return *verbs_.store().StagedTables(); }

 private:
  StoreVerbs& verbs_;
};

const std::vector<std::string> kOnlyDay = {"DAY"};

TEST_P(Conformance, NobodyFindsATableBeforeItHasItsName) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  const TablePtr staged = maker.Stage();
  maker.Fill(staged, "r", 1);
  EXPECT_EQ(Find("DAY"), nullptr);
  EXPECT_EQ(Find(staged->name), nullptr);
  EXPECT_EQ(store().Tables().size(), 3u);
  EXPECT_EQ(maker.Staged(), kOnlyDay);
}

TEST_P(Conformance, ATableThatTookItsNameIsReadAndIsNoOrphan) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  EXPECT_EQ(Read("DAY"), Only("1"));
  EXPECT_FALSE(Find("DAY")->orphaned);
  EXPECT_TRUE(maker.Staged().empty());
}

TEST_P(Conformance, ATableThatIsMadeAgainIsAnotherAndIsNeverAway) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  const TableId before = Find("DAY")->id;
  const TablePtr staged = maker.Stage();
  ASSERT_NE(Find("DAY"), nullptr);
  EXPECT_EQ(Read("DAY"), Only("1"));
  maker.Fill(staged, "r", 2);
  ASSERT_NE(Find("DAY"), nullptr);
  ASSERT_TRUE(store().SwapStaged(Day(), staged->id));
  EXPECT_EQ(Read("DAY"), Only("2"));
  EXPECT_NE(Find("DAY")->id, before);
  EXPECT_EQ(maker.Staged(), kOnlyDay);
  ASSERT_TRUE(store().DropStaged("DAY"));
  EXPECT_EQ(Read("DAY"), Only("2"));
  EXPECT_TRUE(maker.Staged().empty());
}

TEST_P(Conformance, WhatWasReplacedIsReadByWhoBeganUntilItIsDropped) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  const TablePtr before = Find("DAY");
  maker.Make(2);
  ScanSpec spec;
  spec.now = clock.Now();
  const auto scan = store().Scan(before, spec);
  const Result<bool> more = scan->Next();
  ASSERT_TRUE(more && *more);
  const bool is_apart = store().capabilities().staging->KeepsApart();
  EXPECT_EQ(scan->row().cells.at(0).value, Value::Int(is_apart ? 1 : 2));
  ASSERT_TRUE(store().DropStaged("DAY"));
  EXPECT_FALSE(store().Scan(before, spec)->Next());
}

TEST_P(Conformance, StagingAgainBeginsWithNothingWhereTablesAreKeptApart) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Fill(maker.Stage(), "old", 1);
  maker.Make(2);
  Rows rows = Only("2");
  if (!store().capabilities().staging->KeepsApart()) {
    rows.insert(rows.begin(), {"old", {{"A:x@5", "1"}}});
  }
  EXPECT_EQ(Read("DAY"), rows);
}

TEST_P(Conformance, WhoseStagedTableIsAnothersByNowDoesNotGiveItTheName) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  const TablePtr first = maker.Stage();
  const TablePtr second = maker.Stage();
  for (const TableId id : {first->id, TableId{0}}) {
    const Status swapped = store().SwapStaged(Day(), id);
    ASSERT_FALSE(swapped);
    EXPECT_EQ(swapped.error().code(), ErrorCode::kConflict);
  }
  EXPECT_EQ(Find("DAY"), nullptr);
  EXPECT_TRUE(store().SwapStaged(Day(), second->id));
}

TEST_P(Conformance, SwapWithNothingStagedFreesTheName) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  ASSERT_TRUE(store().SwapStaged(Day(), 0));
  EXPECT_EQ(Find("DAY"), nullptr);
  ASSERT_TRUE(store().DropStaged("DAY"));
  const Status nothing = store().SwapStaged(Day(), 0);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(store().DropStaged("DAY"));
  maker.Make(2);
  EXPECT_EQ(Read("DAY"), Only("2")) << "nothing of what had the name comes back";
}

TEST_P(Conformance, ARestartLeavesTheOldTableOrTheNewOne) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  maker.Stage();
  ASSERT_TRUE(Adopt(WithDay()));
  Reopen();
  EXPECT_EQ(Read("DAY"), Only("1"));
  EXPECT_EQ(maker.Staged(), kOnlyDay);
  ASSERT_TRUE(store().DropStaged("DAY"));
  maker.Make(3);
  Reopen();
  EXPECT_EQ(Read("DAY"), Only("3"));
}

TEST_P(Conformance, AdoptingATableThatTookItsNameChangesNothingOfIt) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  const TableId id = Find("DAY")->id;
  WriteRows("H", {"r"}, 10);
  ASSERT_TRUE(Adopt(WithDay()));
  EXPECT_EQ(Find("DAY")->id, id);
  EXPECT_EQ(Find("DAY")->membership.whole_from, 0);
  EXPECT_EQ(Read("DAY"), Only("1"));
}

TEST_P(Conformance, SettlingKeepsBothGenerations) {
  NEEDS_CAPABILITY(staging);
  Maker maker(this);
  maker.Make(1);
  const TableId first = Find("DAY")->id;
  Settle();
  maker.Make(2);
  Settle();
  EXPECT_EQ(Read("DAY"), Only("2"));
  ASSERT_TRUE(store().SwapStaged(Day(), first));
  const bool is_apart = store().capabilities().staging->KeepsApart();
  EXPECT_EQ(Read("DAY"), Only(is_apart ? "1" : "2"));
}

}  // namespace
}  // namespace tallyd

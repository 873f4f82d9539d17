// What a store knows of its past when a schema is adopted: seen by what tables then say of
// themselves.
#include <gtest/gtest.h>

#include "storage/leveldb/commit/engine_state.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class EnginePastTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override { Open(); }

  static Table TableOf(const std::string& name) {
    Table table = MakeTable(name);
    table.time_field = "ts";
    return table;
  }
  void Use(std::vector<Table> tables) { ASSERT_TRUE(Adopt(MakeSchema(std::move(tables)))); }
  // An event at that time in the table.
  void Take(const std::string& table, TimeUs time) {
    ASSERT_TRUE(Write(table, "r", time, {{"A", "x", Value::Int(1)}}));
  }
  TimeUs Member(const std::string& table) { return Find(table)->membership.whole_from; }
};

TEST_F(EnginePastTest, FindsTheHistoryOfAStreamWhereverItLies) {
  Use({TableOf("T")});
  Take("T", 50);
  ASSERT_TRUE(store().Settle());
  Use({TableOf("T"), TableOf("U")});
  EXPECT_EQ(Member("U"), 51) << "in a block file";
  Take("T", 70);
  Open();  // A head of another process; the table joins by a restart.
  Use({TableOf("T"), TableOf("U"), TableOf("V")});
  EXPECT_EQ(Member("V"), 71) << "in a head that was there";
  Use({});
  Use({TableOf("W")});
  EXPECT_EQ(Member("W"), 71) << "in orphaned tables";
}

TEST_F(EnginePastTest, ALatestTableIsHistoryToo) {
  Table latest = MakeTable("L", Pattern::kLatest);
  latest.time_field = "ts";
  Use({latest});
  Take("L", 50);
  Use({latest, TableOf("U")});
  EXPECT_EQ(Member("U"), 51);
}

TEST_F(EnginePastTest, WhatWasDeletedIsMissingNowhere) {
  Use({TableOf("T")});
  Take("T", 50);
  Use({TableOf("T"), TableOf("U")});
  ASSERT_TRUE(Erase("T", RowDelete("", "")));
  Use({TableOf("T"), TableOf("U"), TableOf("V")});
  EXPECT_EQ(Member("U"), 0);
  EXPECT_EQ(Member("V"), 0);
}

// Of a row under a key that no delete covers, only the time is not known exactly.
TEST_F(EnginePastTest, WhatDeletesLeaveIsStillThere) {
  Use({TableOf("T")});
  Take("T", 50);
  ASSERT_TRUE(Write("T", "s", 60, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(Erase("T", RowDelete("s", "t")));
  Use({TableOf("T"), TableOf("U")});
  EXPECT_GE(Member("U"), 51);
  EXPECT_LE(Member("U"), 61);
}

}  // namespace
}  // namespace tallyd

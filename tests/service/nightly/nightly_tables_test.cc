// Nightly tables by the clock: built at the quiet hour, made again for late readings, removed when
// their time is over, known after a restart.
#include "tests/service/nightly/nightly_world.h"

namespace tallyd {
namespace {

using Kind = NightlyState::Kind;

constexpr TimeUs kDay = NightlyWorld::kDay;
constexpr const char* kTable = "SENSOR_20170726";
constexpr const char* kRow = "0000987654#20170726: METER:0000@0=1 METER:ID@0=987654\n";
constexpr const char* kBothRows =
    "0000987654#20170726: METER:0000@0=1 METER:0100@60=2 METER:ID@0=987654 METER:ID@60=987654\n";

class NightlyTablesTest : public testing::Test {
 protected:
  // Past half past midnight, when kDay is due.
  void PassQuietHour() { world.clock.Pass(20 * kMinuteUs); }
  void LookAfter(int64_t us) {
    world.clock.Pass(us);
    world.nightly->Look();
  }
  // The table of kDay with its first reading.
  void MakeFirst() {
    world.Read(0, "1");
    PassQuietHour();
    world.nightly->Look();
    ASSERT_EQ(world.Show(kTable), kRow);
  }
  std::vector<NightlyState> States() { return world.nightly->States(); }
  bool IsKnownToBeBehind() {
    const Result<bool> behind =
        IsBehind(*world.store, kTable, *world.in_force->FindTable(kTable)->nightly);
    EXPECT_TRUE(behind);
    return behind && *behind;
  }

  NightlyWorld world;
};

TEST_F(NightlyTablesTest, AreBuiltAtTheQuietHour) {
  world.Read(0, "1");
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), "no table");
  PassQuietHour();
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), kRow);
}

TEST_F(NightlyTablesTest, AreBuiltByALaterStart) {
  world.Read(0, "1");
  world.clock.Pass(10 * kHourUs);
  world.Restart();
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), kRow);
}

TEST_F(NightlyTablesTest, AreNotMadeOfDaysWithoutRows) {
  world.Read(-kUsPerDay, "1");
  LookAfter(kHourUs);
  EXPECT_EQ(world.Show(kTable), "no table");
  EXPECT_EQ(world.Metric("tallyd_nightly_builds_total"), 0);
}

TEST_F(NightlyTablesTest, AreMadeOfADayWhoseFirstRowsComeLate) {
  LookAfter(kHourUs);
  world.Read(0, "1");
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), kRow);
  EXPECT_EQ(world.Marks(), 0u);
}

TEST_F(NightlyTablesTest, AreBuiltOnce) {
  MakeFirst();
  LookAfter(kHourUs);
  LookAfter(kHourUs);
  EXPECT_EQ(world.Metric("tallyd_nightly_builds_total"), 1);
}

TEST_F(NightlyTablesTest, AreMadeAgainForLateReadings) {
  MakeFirst();
  world.Read(kHourUs, "2");
  EXPECT_EQ(world.Marks(), 1u);
  LookAfter(kMinuteUs);
  EXPECT_EQ(world.Show(kTable), kBothRows);
  EXPECT_EQ(world.Marks(), 0u);
}

TEST_F(NightlyTablesTest, TellThatTheyAreBehindUntilThen) {
  MakeFirst();
  world.Read(kHourUs, "2");
  LookAfter(kUsPerSecond);
  ASSERT_EQ(States().size(), 1u);
  EXPECT_EQ(States()[0].kind, Kind::kBehind);
  EXPECT_TRUE(IsKnownToBeBehind());
  LookAfter(kMinuteUs);
  ASSERT_EQ(States().size(), 1u);
  EXPECT_EQ(States()[0].kind, Kind::kBuilt);
  EXPECT_EQ(States()[0].done, (DayCounts{1, 4}));
  EXPECT_FALSE(IsKnownToBeBehind());
}

TEST_F(NightlyTablesTest, AreBehindFromTheCommitOfALateReadingOn) {
  MakeFirst();
  EXPECT_FALSE(IsKnownToBeBehind());
  world.Read(kHourUs, "2");
  EXPECT_TRUE(IsKnownToBeBehind());
}

TEST_F(NightlyTablesTest, AreBehindFromTheStartOn) {
  MakeFirst();
  world.Read(kHourUs, "2");
  world.Restart();
  EXPECT_TRUE(IsKnownToBeBehind());
}

TEST_F(NightlyTablesTest, AreNotBehindForReadingsOfOtherDays) {
  MakeFirst();
  world.Read(-kUsPerDay, "2");
  world.Read(kUsPerDay, "3");
  EXPECT_FALSE(IsKnownToBeBehind());
}

// Nobody notes late readings then.
TEST_F(NightlyTablesTest, AreMadeAgainWhenDailyIsBackInTheFile) {
  std::string without = SensorConfig();
  const size_t daily = without.find("daily = ");
  without.erase(daily, without.find('\n', daily) - daily);
  MakeFirst();
  for (const bool looks : {true, false}) {
    world.Reload(without);
    if (looks) world.nightly->Look();
    world.Read(kHourUs, looks ? "3" : "2");
    EXPECT_EQ(world.Marks(), 0u);
    world.Reload(SensorConfig());
    if (looks) {
      EXPECT_TRUE(IsKnownToBeBehind());
    }
    LookAfter(kMinuteUs);
    EXPECT_FALSE(IsKnownToBeBehind());
  }
  EXPECT_EQ(world.Show(kTable), kBothRows);
}

// No mark is left by then, and what is in force is as old as the table.
TEST_F(NightlyTablesTest, AreBehindWhileTheyAreMadeAgain) {
  MakeFirst();
  world.Read(kHourUs, "2");
  world.nightly->Stop();
  LookAfter(kMinuteUs);
  EXPECT_EQ(world.Marks(), 0u);
  EXPECT_EQ(world.Show(kTable), kRow);
  EXPECT_TRUE(IsKnownToBeBehind());
}

TEST_F(NightlyTablesTest, AreMadeAgainForReadingsThatCameBeforeARestart) {
  MakeFirst();
  world.Read(kHourUs, "2");
  world.Restart();
  LookAfter(kMinuteUs);
  EXPECT_EQ(world.Show(kTable), kBothRows);
}

TEST_F(NightlyTablesTest, AreMadeAgainWhereABuildWasInterrupted) {
  MakeFirst();
  world.Read(kHourUs, "2");
  LookAfter(kUsPerSecond);
  world.nightly->Stop();
  LookAfter(kMinuteUs);
  EXPECT_EQ(world.Show(kTable), kRow);
  world.Restart();
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), kBothRows);
}

TEST_F(NightlyTablesTest, OfADayThatBeganToExpireStayAsTheyAre) {
  world.Reload(SensorConfig("at = \"00:30\"", "max_age = \"2d\""));
  MakeFirst();
  world.clock.Pass(30 * kHourUs);
  world.Read(20 * kHourUs, "2");
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), kRow);
  EXPECT_EQ(world.Marks(), 0u);
}

TEST_F(NightlyTablesTest, MarksOfDaysThatNeedNoTableGo) {
  world.Read(-100 * kUsPerDay, "1");
  EXPECT_EQ(world.Marks(), 1u);
  LookAfter(kHourUs);
  EXPECT_EQ(world.Marks(), 0u);
}

TEST_F(NightlyTablesTest, TodaysReadingsLeaveNoMark) {
  world.Read(kUsPerDay, "1");
  EXPECT_EQ(world.Marks(), 0u);
}

TEST_F(NightlyTablesTest, ReadingsAtTheEndOfTheDayLeaveAMark) {
  world.clock.Pass(-21 * kMinuteUs);
  world.Read(kUsPerDay - kHourUs, "1");
  EXPECT_EQ(world.Marks(), 1u);
}

TEST_F(NightlyTablesTest, GoWhenTheirKeepHasPassed) {
  world.Reload(SensorConfig("keep = \"90d\""));
  MakeFirst();
  LookAfter(89 * kUsPerDay);
  EXPECT_EQ(world.Show(kTable), kRow);
  LookAfter(kUsPerDay);
  EXPECT_EQ(world.Show(kTable), "no table");
  EXPECT_EQ(world.in_force->FindTable(kTable), nullptr);
  EXPECT_EQ(world.Metric("tallyd_nightly_tables"), 0);
  LookAfter(2 * kMinuteUs);
  EXPECT_TRUE(world.store->StagedTables()->empty());
}

TEST_F(NightlyTablesTest, GoByAReloadThatLowersTheirKeep) {
  MakeFirst();
  world.clock.Pass(2 * kUsPerDay);
  world.Reload(SensorConfig("keep = \"1d\""));
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), "no table");
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), "no table");
}

TEST_F(NightlyTablesTest, ThatAreAskedForWhenTheirKeepIsOverLiveFromThenOn) {
  world.Read(0, "1");
  world.clock.Pass(1000 * kUsPerDay);
  world.Reload(SensorConfig("keep = \"90d\""));
  ASSERT_TRUE(world.nightly->Build("SENSOR", kDay));
  LookAfter(kUsPerDay);
  EXPECT_EQ(world.Show(kTable), kRow);
  LookAfter(90 * kUsPerDay);
  EXPECT_EQ(world.Show(kTable), "no table");
}

TEST_F(NightlyTablesTest, AreRemovedByTheRetentionClockAlone) {
  world.Reload(SensorConfig("keep = \"90d\""));
  MakeFirst();
  world.clock.now += 1000 * kUsPerDay;
  world.nightly->Look();
  EXPECT_NE(world.Show(kTable), "no table");
  ASSERT_TRUE(world.store->TrustClock());
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), "no table");
}

TEST_F(NightlyTablesTest, AreNotBuiltOfADayThatOnlyAJumpOfTheClockEnds) {
  world.Read(kUsPerDay, "1");
  world.clock.now += kUsPerDay;
  world.nightly->Look();
  EXPECT_EQ(world.Show("SENSOR_20170727"), "no table");
}

TEST_F(NightlyTablesTest, AreKnownAfterARestart) {
  MakeFirst();
  world.Restart();
  EXPECT_EQ(world.Show(kTable), kRow);
  EXPECT_FALSE(world.store->FindTable(kTable)->orphaned);
  EXPECT_NE(world.in_force->FindTable(kTable), nullptr);
  world.nightly->Look();
  EXPECT_EQ(world.Metric("tallyd_nightly_builds_total"), 0);
}

TEST_F(NightlyTablesTest, AreOrphansWhereTheirKeyIsTakenOutAndComeBackWithIt) {
  MakeFirst();
  std::string without = SensorConfig();
  without.resize(without.find("daily"));
  world.Reload(without);
  EXPECT_TRUE(world.store->FindTable(kTable)->orphaned);
  EXPECT_EQ(world.Show(kTable), kRow);
  world.Restart(without);
  EXPECT_TRUE(world.store->FindTable(kTable)->orphaned);
  world.Reload(SensorConfig());
  EXPECT_FALSE(world.store->FindTable(kTable)->orphaned);
  EXPECT_EQ(world.Show(kTable), kRow);
}

TEST_F(NightlyTablesTest, WhatWasReplacedGoesAMinuteLater) {
  MakeFirst();
  ASSERT_TRUE(world.nightly->Build("SENSOR", kDay));
  EXPECT_EQ(world.store->StagedTables()->size(), 1u);
  LookAfter(2 * kMinuteUs);
  EXPECT_TRUE(world.store->StagedTables()->empty());
  EXPECT_EQ(world.Show(kTable), kRow);
}

TEST_F(NightlyTablesTest, WhatACrashLeftOfABuildGoesAtTheNextStart) {
  MakeFirst();
  ASSERT_TRUE(world.store->StageTable(*world.in_force->FindTable(kTable)));
  world.Restart();
  EXPECT_TRUE(world.store->StagedTables()->empty());
  EXPECT_EQ(world.Show(kTable), kRow);
}

class NightlyNameTest : public NightlyTablesTest {
 protected:
  // A nightly table is dropped while its key is out of the file, and an ordinary one has its name.
  void TakeTheName() {
    MakeFirst();
    const std::string with = SensorConfig();
    const std::string without = with.substr(0, with.find("daily"));
    world.Reload(without);
    ASSERT_TRUE(world.store->DropTable(kTable));
    world.Reload(without + "[tables.SENSOR_20170726]\nstream = \"meter\"\n" +
                 "pattern = \"new-cell\"\nrow_key = \"{meter}#{ts:day}\"\nfamilies.M = {}\n");
    world.Read(kHourUs, "42");
    before = world.Show(kTable);
    ASSERT_NE(before, "");
  }
  std::string before;
};

TEST_F(NightlyNameTest, AnOrdinaryTableOfTheNameOfADroppedOneIsNeverReplaced) {
  TakeTheName();
  world.Reload(SensorConfig());
  EXPECT_TRUE(world.store->FindTable(kTable)->orphaned);
  const Result<NightlyRecord> built = world.nightly->Build("SENSOR", kDay);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code(), ErrorCode::kConflict);
  LookAfter(2 * kMinuteUs);
  EXPECT_EQ(world.Show(kTable), before);
}

TEST_F(NightlyNameTest, NoKeepRemovesAnOrdinaryTableOfTheNameOfADroppedOne) {
  TakeTheName();
  world.clock.Pass(2 * kUsPerDay);
  world.Reload(SensorConfig("keep = \"1d\""));
  world.nightly->Look();
  EXPECT_EQ(world.Show(kTable), before);
  EXPECT_TRUE(world.store->FindTable(kTable)->orphaned);
}

TEST_F(NightlyNameTest, ATableThatIsDroppedTakesItsRecordAlong) {
  MakeFirst();
  const std::string with = SensorConfig();
  world.Reload(with.substr(0, with.find("daily")));
  ASSERT_TRUE(world.store->DropTable(kTable));
  ASSERT_TRUE(world.nightly->Forget(kTable));
  EXPECT_TRUE(ReadNightlyRecords(*world.store)->empty());
  EXPECT_EQ(world.Metric("tallyd_nightly_tables"), 0);
}

// As releases stored it whose records named no table.
TEST_F(NightlyNameTest, AnOlderRecordIsOfTheTableThatHasTheShapeOfItsSource) {
  MakeFirst();
  NightlyRecord record = ReadNightlyRecords(*world.store)->front();
  EXPECT_EQ(record.table, world.store->FindTable(kTable)->id);
  std::string older = EncodeNightly(record);
  older.resize(older.rfind(' ', older.rfind(' ') - 1));
  std::unique_ptr<Batch> batch = world.store->NewBatch();
  batch->PutMemo(NightlyKey(kTable), older, NoteOrder::kBefore);
  ASSERT_TRUE(world.store->Commit(std::move(batch)));
  world.Restart();
  EXPECT_FALSE(world.store->FindTable(kTable)->orphaned);
  world.nightly->Look();
  EXPECT_EQ(ReadNightlyRecords(*world.store)->front(), record);
  EXPECT_EQ(world.Show(kTable), kRow);
}

TEST_F(NightlyTablesTest, AThreadLooksByItself) {
  world.Read(0, "1");
  PassQuietHour();
  world.nightly->Start();
  for (int i = 0; i < 6000 && world.store->FindTable(kTable) == nullptr; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  world.nightly->Stop();
  EXPECT_EQ(world.Show(kTable), kRow);
}

}  // namespace
}  // namespace tallyd

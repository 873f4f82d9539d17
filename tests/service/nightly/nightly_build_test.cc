// One build on request: what it makes, when it is refused, what comes meanwhile.
#include <thread>

#include "ingest/map/late_days.h"
#include "tests/service/nightly/nightly_world.h"

namespace tallyd {
namespace {

constexpr TimeUs kDay = NightlyWorld::kDay;
constexpr const char* kTable = "SENSOR_20170726";

class NightlyBuildTest : public testing::Test {
 protected:
  void Build(TimeUs day = kDay) {
    const Result<NightlyRecord> built = world.nightly->Build("SENSOR", day);
    ASSERT_TRUE(built) << built.error().message();
    record = *built;
  }
  ErrorCode Refusal(TimeUs day = kDay, const std::string& source = "SENSOR") {
    const Result<NightlyRecord> built = world.nightly->Build(source, day);
    EXPECT_FALSE(built);
    return built ? ErrorCode::kIo : built.error().code();
  }

  NightlyWorld world;
  NightlyRecord record;
};

TEST_F(NightlyBuildTest, MakesTheDaysTableAndPutsItInForce) {
  world.Read(0, "12.34");
  world.Read(kUsPerDay, "1");
  Build();
  EXPECT_EQ(world.Show(kTable), "0000987654#20170726: METER:0000@0=12.34 METER:ID@0=987654\n");
  EXPECT_EQ(record.name, kTable);
  EXPECT_EQ(record.rows, 1u);
  EXPECT_EQ(record.cells, 2u);
  const Table* table = world.in_force->FindTable(kTable);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->nightly->source, "SENSOR");
  EXPECT_EQ(table->nightly->day, kDay);
  EXPECT_FALSE(world.store->FindTable(kTable)->orphaned);
}

TEST_F(NightlyBuildTest, AgainMakesTheSameTable) {
  world.Read(0, "12.34");
  Build();
  const std::string before = world.Show(kTable);
  Build();
  EXPECT_EQ(world.Show(kTable), before);
  EXPECT_EQ(world.store->Tables().size(), 2u);
}

TEST_F(NightlyBuildTest, OfADayWithoutRowsIsAnEmptyTable) {
  Build();
  EXPECT_EQ(world.Show(kTable), "");
  EXPECT_EQ(record.rows, 0u);
}

TEST_F(NightlyBuildTest, IsForgottenByNothingButItsKeep) {
  world.Reload(SensorConfig("keep = \"90d\"", "max_age = \"10d\""));
  world.Read(0, "1");
  Build();
  const std::string before = world.Show(kTable);
  world.clock.Pass(30 * kUsPerDay);
  EXPECT_EQ(world.Show("SENSOR"), "");
  EXPECT_EQ(world.Show(kTable), before);
}

TEST_F(NightlyBuildTest, RefusesADayThatIsNotOver) {
  EXPECT_EQ(Refusal(kDay + kUsPerDay), ErrorCode::kInvalid);
  EXPECT_EQ(Refusal(kDay + 100 * kUsPerDay), ErrorCode::kInvalid);
}

TEST_F(NightlyBuildTest, RefusesADayThatHasBegunToExpire) {
  world.Reload(SensorConfig("at = \"00:30\"", "max_age = \"1d\""));
  EXPECT_EQ(Refusal(), ErrorCode::kConflict);
  world.Reload(SensorConfig("at = \"00:30\"", "max_age = \"2d\""));
  Build();
  EXPECT_EQ(Refusal(kDay - kUsPerDay), ErrorCode::kConflict);
}

TEST_F(NightlyBuildTest, RefusesTablesThatHaveNone) {
  world.Reload(SensorConfig("at = \"00:30\"", "",
                            "[tables.OTHER]\nstream = \"meter\"\npattern = \"latest\"\n"
                            "row_key = \"{meter}\"\nfamilies.M = {}\n"));
  EXPECT_EQ(Refusal(kDay, "OTHER"), ErrorCode::kInvalid);
  EXPECT_EQ(Refusal(kDay, "NONE"), ErrorCode::kNotFound);
}

TEST_F(NightlyBuildTest, RefusesTheNameOfATableThatIsNoNightlyTable) {
  const std::string no_daily =
      "[tables.SENSOR_20170726]\nstream = \"meter\"\npattern = \"new-cell\"\n"
      "row_key = \"{meter}#{ts:day}\"\nfamilies.METER = {}\n";
  world.Reload(no_daily);
  world.Read(0, "1");
  world.Reload(SensorConfig());
  const std::string before = world.Show(kTable);
  EXPECT_EQ(Refusal(), ErrorCode::kConflict);
  EXPECT_EQ(world.Show(kTable), before);
}

TEST_F(NightlyBuildTest, RefusesOneMoreThanAThousandTables) {
  std::string others;
  for (int i = 1; i < 1000; ++i) {
    others += "[tables.T" + std::to_string(i) +
              "]\nstream = \"s\"\npattern = \"latest\"\nrow_key = \"{a}\"\nfamilies.M = {}\n";
  }
  world.Reload(SensorConfig("at = \"00:30\"", "", others));
  world.Read(0, "1");
  EXPECT_EQ(Refusal(), ErrorCode::kConflict);
  EXPECT_EQ(world.Show(kTable), "no table");
}

TEST_F(NightlyBuildTest, TakesCellsOfATimeThatTheirKeyDoesNotTell) {
  world.Read(0, "1");
  Build();
  const Table& source = world.configured->tables[0];
  const std::string key = "0000987654#20170726";
  std::unique_ptr<Batch> batch = world.store->NewBatch();
  const std::vector<ColumnRef> columns = {{0, "0100"}};
  const std::vector<Value> values = {Value::Int(7)};
  const TimeUs time = kDay + 2 * kUsPerDay;
  batch->Put(*world.store->FindTable("SENSOR"), key, time, columns, values);
  NoteChange(source, key, time, world.clock.now, batch.get());
  ASSERT_TRUE(world.store->Commit(std::move(batch)));
  EXPECT_EQ(world.Marks(), 1u);
  Build();
  EXPECT_EQ(world.Show(kTable),
            "0000987654#20170726: METER:0000@0=1 METER:0100@2880=7 METER:ID@0=987654\n");
}

TEST_F(NightlyBuildTest, SeesADeleteThatCameMeanwhile) {
  world.Read(0, "1");
  // A delete that waits for the build's swap, or the build for it: whichever is first, the row is
  // gone from both tables in the end.
  std::thread deleter([&] {
    const auto held = world.writing->writer.gate().Hold();
    world.writing->writer.gate().NoteRemoval("meter");
    std::unique_ptr<Batch> batch = world.store->NewBatch();
    for (const char* name : {"SENSOR", kTable}) {
      const TablePtr table = world.store->FindTable(name);
      if (table) batch->Delete(*table, DeleteSpec{});
    }
    EXPECT_TRUE(world.store->Commit(std::move(batch)));
  });
  Build();
  deleter.join();
  EXPECT_EQ(world.Show("SENSOR"), "");
  EXPECT_EQ(world.Show(kTable), "");
}

TEST_F(NightlyBuildTest, TellsMetrics) {
  world.Read(0, "1");
  Build();
  EXPECT_EQ(world.Metric("tallyd_nightly_tables"), 1);
  EXPECT_EQ(world.Metric("tallyd_nightly_builds_total"), 1);
  EXPECT_EQ(world.Metric("tallyd_nightly_rows_total"), 1);
}

TEST_F(NightlyBuildTest, EndsWhenTheDaemonStops) {
  world.Read(0, "1");
  world.nightly->Stop();
  EXPECT_EQ(Refusal(), ErrorCode::kCancelled);
  EXPECT_EQ(world.Show(kTable), "no table");
  EXPECT_TRUE(world.store->StagedTables()->empty());
}

}  // namespace
}  // namespace tallyd

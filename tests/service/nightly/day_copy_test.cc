#include "service/nightly/day_copy.h"

#include <fmt/format.h>

#include "tests/service/nightly/nightly_world.h"

namespace tallyd {
namespace {

constexpr TimeUs kDay = NightlyWorld::kDay;

class DayCopyTest : public testing::Test {
 protected:
  // Copies kDay of the only table into one that then takes its name.
  void Copy() {
    NightlyRecord record;
    record.name = "COPY";
    record.source = source().name;
    record.day = kDay;
    const Table table = NightlyTableOf(source(), record);
    const Result<TablePtr> to = world.store->StageTable(table);
    ASSERT_TRUE(to) << to.error().message();
    for (const Left& one : left) {
      std::unique_ptr<Batch> batch = world.store->NewBatch();
      const std::vector<ColumnRef> columns = {{0, one.column}};
      const std::vector<Value> values = {Value::Int(one.value)};
      batch->Put(**to, one.row, kDay + one.after_us, columns, values);
      ASSERT_TRUE(world.store->Commit(std::move(batch)));
    }
    const Result<DayCounts> counts = CopyDay(*world.store, world.writing->writer, CopyOf(*to),
                                             [&](const DayCounts&) { return Status(); });
    ASSERT_TRUE(counts) << counts.error().message();
    counted = *counts;
    ASSERT_TRUE(world.store->SwapStaged(table, (*to)->id));
  }
  // More of them than one scan takes, a reading each.
  void ReadManyMeters(TimeUs time) {
    std::string events;
    for (int meter = 1; meter <= 25'000; ++meter) {
      events += (events.empty() ? "[" : ",") + std::string("{\"meter\": ") + std::to_string(meter) +
                ", \"ts\": " + std::to_string(time / kUsPerMs) + ", \"value\": 1}";
    }
    world.Write(events + "]");
  }
  const Table& source() { return world.configured->tables[0]; }
  DayCopy CopyOf(TablePtr to) {
    return {source(), TimeUnit::kMilliseconds, world.store->FindTable(source().name), std::move(to),
            kDay,     world.clock.now};
  }

  // Cells that the table has before.
  struct Left {
    std::string row;
    int64_t after_us = 0;
    std::string column;
    int64_t value = 0;
  };

  NightlyWorld world;
  std::vector<Left> left;
  DayCounts counted;
};

TEST_F(DayCopyTest, TakesTheRowsOfTheDayWithTheirCells) {
  world.Read(-kMinuteUs, "1");
  world.Read(0, "12.34");
  world.Read(15 * kMinuteUs, "13.45");
  world.Read(kUsPerDay - kMinuteUs, "28.9");
  world.Read(kUsPerDay, "2");
  Copy();
  EXPECT_EQ(world.Show("COPY"),
            "0000987654#20170726: METER:0000@0=12.34 METER:0015@15=13.45 METER:2359@1439=28.9 "
            "METER:ID@0=987654 METER:ID@1439=987654 METER:ID@15=987654\n");
  EXPECT_EQ(counted, (DayCounts{1, 6}));
}

TEST_F(DayCopyTest, IsTheSameFromSealedRowsAndFromFreshOnes) {
  for (int reading = 0; reading < 96; ++reading) world.Read(reading * 15 * kMinuteUs, "1.5");
  Copy();
  const std::string fresh = world.Show("COPY");
  ASSERT_TRUE(world.store->Settle());
  Copy();
  EXPECT_EQ(world.Show("COPY"), fresh);
  EXPECT_EQ(counted, (DayCounts{1, 192}));
}

TEST_F(DayCopyTest, GoesOnInAnotherScanWhereOneIsLong) {
  ReadManyMeters(kDay);
  Copy();
  EXPECT_EQ(counted, (DayCounts{25'000, 50'000}));
  EXPECT_EQ(world.Show("COPY"), world.Show("SENSOR"));
}

TEST_F(DayCopyTest, TakesNoRowWhoseKeyIsOfNoDay) {
  world.Read(0, "1");
  const TablePtr table = world.store->FindTable("SENSOR");
  std::unique_ptr<Batch> batch = world.store->NewBatch();
  const std::vector<ColumnRef> columns = {{0, "0000"}};
  const std::vector<Value> values = {Value::Int(7)};
  batch->Put(*table, "0000000001#2017072x", kDay, columns, values);
  batch->Put(*table, "0000000001#20170725", kDay, columns, values);
  ASSERT_TRUE(world.store->Commit(std::move(batch)));
  Copy();
  EXPECT_EQ(world.Show("COPY"), "0000987654#20170726: METER:0000@0=1 METER:ID@0=987654\n");
}

TEST_F(DayCopyTest, TakesWhatWasWrittenLastOfAColumnAndTime) {
  world.Read(0, "1");
  world.Read(0, "2");
  Copy();
  EXPECT_EQ(world.Show("COPY"), world.Show("SENSOR"));
  EXPECT_EQ(counted, (DayCounts{1, 2}));
}

TEST_F(DayCopyTest, EndsWithTheSameTableWhateverIsThere) {
  for (const char* meter : {"2", "4", "5", "8"}) {
    world.Write("{\"meter\": " + std::string(meter) +
                ", \"ts\": " + std::to_string(kDay / kUsPerMs) + ", \"value\": 1}");
  }
  left = {{"0000000001#20170726", 0, "0000", 1},         {"0000000003#20170726", 0, "0000", 1},
          {"0000000004#20170726", 0, "0000", 1},         {"0000000004#20170726", 0, "ID", 7},
          {"0000000004#20170726", kMinuteUs, "0000", 1}, {"0000000004#20170726", 0, "gone", 1},
          {"0000000005#20170726", 0, "ID", 5},           {"0000000006#20170726", 0, "0000", 1},
          {"0000000007#20170726", kMinuteUs, "0000", 1}, {"0000000009#20170726", 0, "ID", 9}};
  Copy();
  EXPECT_EQ(world.Show("COPY"), world.Show("SENSOR"));
  EXPECT_EQ(counted, (DayCounts{4, 8}));
}

TEST_F(DayCopyTest, LooksAtWhatIsThereBesideManyRowsToo) {
  ReadManyMeters(kDay);
  for (int meter = 2; meter < 50'000; meter += 1999) {
    left.push_back({fmt::format("{:010}#20170726", meter), 0, meter % 2 == 0 ? "ID" : "gone", 1});
  }
  Copy();
  EXPECT_EQ(world.Show("COPY"), world.Show("SENSOR"));
  EXPECT_EQ(counted, (DayCounts{25'000, 50'000}));
}

TEST_F(DayCopyTest, EndsWhenItIsToldTo) {
  world.Read(0, "1");
  NightlyRecord record;
  record.name = "COPY";
  const Result<TablePtr> to = world.store->StageTable(NightlyTableOf(source(), record));
  ASSERT_TRUE(to);
  const Result<DayCounts> counts =
      CopyDay(*world.store, world.writing->writer, CopyOf(*to),
              [](const DayCounts&) -> Status { return Error(ErrorCode::kCancelled, "enough"); });
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code(), ErrorCode::kCancelled);
}

TEST_F(DayCopyTest, KnowsWhetherThereIsAnythingOfTheDay) {
  world.Read(-kMinuteUs, "1");
  world.Read(kUsPerDay, "2");
  EXPECT_FALSE(*HasDay(*world.store, CopyOf(nullptr), [] { return Status(); }));
  world.Read(kHourUs, "3");
  EXPECT_TRUE(*HasDay(*world.store, CopyOf(nullptr), [] { return Status(); }));
}

TEST_F(DayCopyTest, ALongSearchAsksWhetherToGoOn) {
  ReadManyMeters(kDay + kUsPerDay);
  DayCopy copy = CopyOf(nullptr);
  copy.has_strays = true;
  int asked = 0;
  const auto go_on = [&] {
    ++asked;
    return Status();
  };
  EXPECT_FALSE(*HasDay(*world.store, copy, go_on));
  EXPECT_EQ(asked, 1);
  const Result<bool> ended =
      HasDay(*world.store, copy, []() -> Status { return Error(ErrorCode::kCancelled, "enough"); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace tallyd

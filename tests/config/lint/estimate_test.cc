// The estimator, against the seeds' own numbers.
#include "config/lint/estimate.h"

#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

constexpr char kServers[] = R"(
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}
[tables.CURRENT_METRIC]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
)";

constexpr char kMeters[] = R"(
[tables.SENSOR]
stream = "meter"
pattern = "new-column"
row_key = "{meter:zero(10)}#{ts:day}"
columns = [
  { family = "METER", name = "ID", value = "{meter}" },
  { family = "METER", name = "{ts:%H%M}", value = "{value}" },
]
families.METER = {}
)";

constexpr int64_t kMinuteUs = 60 * kUsPerSecond;

std::vector<TableEstimate> Estimated(const std::string& toml, const EstimateInput& input) {
  const Result<Config> config = ParseConfig(toml, "t.toml");
  EXPECT_TRUE(config) << config.error().message();
  return EstimateTables(*config->schema, input).value();
}

TEST(EstimateTest, S46AHundredThousandMachines) {
  const auto tables = Estimated(kServers, {100'000, 5 * kUsPerSecond, 100});
  ASSERT_EQ(tables.size(), 2u);
  const TableEstimate& history = tables[0];
  EXPECT_EQ(history.rows_per_s, 20'000);
  EXPECT_EQ(history.cells_per_s, 2'000'000);
  EXPECT_EQ(history.rows_per_day, 1'728'000'000);
  EXPECT_EQ(history.columns_per_row, 100);
  EXPECT_EQ(history.cells_per_row, 100);
  EXPECT_EQ(history.bytes_per_row, 16 + 1 + 13 + 900);
  EXPECT_EQ(history.bytes_per_day, 1'728'000'000.0 * 930);
  const TableEstimate& latest = tables[1];
  EXPECT_EQ(latest.rows_per_s, 20'000);
  EXPECT_EQ(latest.cells_per_s, 2'000'000);
  EXPECT_EQ(latest.rows_per_day, 0);
  EXPECT_EQ(latest.bytes_per_day, 0);
  EXPECT_EQ(latest.columns_per_row, 100);
}

TEST(EstimateTest, S46AMetersDayHas96Columns) {
  const auto tables = Estimated(kMeters, {10'000'000, 15 * kMinuteUs, 1});
  EXPECT_EQ(tables[0].columns_per_row, 96);
  EXPECT_EQ(tables[0].fixed_columns_per_row, 1);
  EXPECT_EQ(tables[0].rows_per_day, 10'000'000);
  EXPECT_NEAR(tables[0].rows_per_s, 11'111, 1);
  EXPECT_EQ(tables[0].cells_per_column, 1);
}

TEST(EstimateTest, S46AWeekAtOneAMinuteHas10080Cells) {
  const char* balloon = R"(
[tables.WEEK]
stream = "balloon"
pattern = "new-cell"
row_key = "{location}#{balloon}#{ts:week}"
families.measurements = { max_versions = 20160 }
)";
  const auto one = Estimated(balloon, {1, kMinuteUs, 1});
  EXPECT_EQ(one[0].cells_per_row, 10'080);
  const auto four = Estimated(balloon, {1, kMinuteUs, 4});
  EXPECT_EQ(four[0].columns_per_row, 4);
  EXPECT_EQ(four[0].cells_per_column, 10'080);
  EXPECT_NEAR(four[0].rows_per_day, 1.0 / 7, 1e-9);
}

TEST(EstimateTest, NamesMoreOftenThanEventsAreNoColumns) {
  const auto minutes = Estimated(kMeters, {1, kMinuteUs / 60, 1});
  EXPECT_EQ(minutes[0].columns_per_row, 1440) << "a column is named by its minute";
}

TEST(EstimateTest, FieldsInTheKeyAreRows) {
  const auto tables = Estimated(R"(
[tables.T]
stream = "s"
pattern = "new-column"
row_key = "{k}#{field}#{ts:week}"
families.F = {}
)",
                                {10, kMinuteUs, 4});
  EXPECT_NEAR(tables[0].rows_per_s, 40.0 / 60, 1e-9);
  EXPECT_EQ(tables[0].columns_per_row, 10'080);
  EXPECT_NEAR(tables[0].rows_per_day, 40.0 / 7, 1e-9);
}

TEST(EstimateTest, NamedFieldsAreCountedInTheirOneSpelling) {
  const Result<Config> config = LoadConfig(TALLYD_SOURCE_DIR "/config/example.toml");
  for (const TableEstimate& table :
       EstimateTables(*config->schema, {3000, kUsPerSecond, 10}).value()) {
    if (table.table == "QUOTE") {
      EXPECT_EQ(table.cells_per_s, 3000 * 7);
    }
    if (table.table == "TRADE") {
      EXPECT_EQ(table.cells_per_s, 3000 * 6);
    }
  }
}

TEST(EstimateTest, NothingBoundsATableWithoutATime) {
  const auto tables =
      Estimated("[tables.T]\npattern = \"new-cell\"\nrow_key = \"{k}\"\nfamilies.F = {}\n",
                {1, kMinuteUs, 1});
  EXPECT_FALSE(tables[0].cells_per_row);
  EXPECT_FALSE(tables[0].bytes_per_row);
  EXPECT_EQ(tables[0].rows_per_day, 0);
}

TEST(EstimateTest, TheStreamsOwnIntervalServesWhereNoneIsGiven) {
  const std::string every = "[streams.server]\nevery = \"10s\"\n";
  EXPECT_EQ(Estimated(every + kServers, {10, {}, 1})[0].rows_per_s, 1);
  const Result<Config> config = ParseConfig(kServers, "t.toml");
  EXPECT_FALSE(EstimateTables(*config->schema, {10, {}, 1}));
}

}  // namespace
}  // namespace tallyd

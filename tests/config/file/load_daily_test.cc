// [tables.X] daily = { ... }: what is read, and what is refused, naming line and key.
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

constexpr int64_t kHourUs = 3600 * kUsPerSecond;

std::string SensorText(const std::string& daily, const std::string& row_key = "{meter}#{ts:day}",
                       const std::string& pattern = "new-column",
                       const std::string& name = "SENSOR") {
  return "[tables." + name + "]\nstream = \"meter\"\npattern = \"" + pattern + "\"\nrow_key = \"" +
         row_key + "\"\nfamilies.METER = {}\ndaily = " + daily + "\n";
}

Result<Config> Parse(const std::string& text) { return ParseConfig(text, "t.toml"); }

std::string MistakeOf(const std::string& text) {
  const Result<Config> config = Parse(text);
  return config ? "accepted" : config.error().message();
}

Daily DailyOf(const std::string& text) {
  const Result<Config> config = Parse(text);
  EXPECT_TRUE(config) << config.error().message();
  return config ? config->schema->tables[0].daily.value_or(Daily()) : Daily();
}

TEST(DailyKeyTest, NamesATableForEachDayWithItsHourAndWhatItKeeps) {
  const Daily daily =
      DailyOf(SensorText("{ name = \"SENSOR_{date}\", at = \"03:15\", keep = \"90d\" }"));
  EXPECT_EQ(daily.name(), "SENSOR_{date}");
  EXPECT_EQ(daily.at_us, 3 * kHourUs + kHourUs / 4);
  EXPECT_EQ(daily.keep_us, 90 * kUsPerDay);
}

TEST(DailyKeyTest, TakesHalfPastMidnightAndForEverWhereNothingElseIsSaid) {
  const Daily daily = DailyOf(SensorText("{ name = \"{date}.SENSOR\" }"));
  EXPECT_EQ(daily.at_us, kHourUs / 2);
  EXPECT_FALSE(daily.keep_us.has_value());
}

TEST(DailyKeyTest, TakesRowKeysThatTellTheDay) {
  for (const char* row_key : {"{meter}#{ts:day}", "{meter}#{ts:ms}", "{meter}#{ts:bucket(12h)}",
                              "{ts:%Y-%m-%d}#{meter}", "{meter}#{ts:reverse(ms)}", "{ts:%Y%j}"}) {
    EXPECT_EQ(MistakeOf(SensorText("{ name = \"S_{date}\" }", row_key)), "accepted") << row_key;
  }
}

TEST(DailyKeyTest, RefusesRowKeysThatDoNot) {
  for (const char* row_key : {"{meter}", "{meter}#{ts:month}", "{meter}#{ts:bucket(2d)}",
                              "{meter}#{ts:week}", "{meter}#{ts:%H%M}",
                              "{meter}#{other:day}#{ts:month}"}) {
    EXPECT_EQ(MistakeOf(SensorText("{ name = \"S_{date}\" }", row_key)),
              "t.toml:6: tables.SENSOR.daily: the row key " + std::string(row_key) +
                  " does not tell a row's day; accepted: a row key with {ts:day} or a finer time "
                  "in one piece");
  }
  EXPECT_EQ(MistakeOf(SensorText("{ name = \"S_{date}\" }", "{meter}#{ts:day}", "latest")),
            "t.toml:6: tables.SENSOR.daily: a latest table has no days; accepted: daily in a table "
            "of events");
}

TEST(DailyKeyTest, RefusesNamesThatAreNotOneForEachDay) {
  EXPECT_EQ(MistakeOf(SensorText("{ at = \"00:30\" }")),
            "t.toml:6: tables.SENSOR.daily.name: is needed; accepted: a table's name with {date}, "
            "as \"SENSOR_{date}\"");
  for (const char* name : {"SENSOR", "S_{date}_{date}", "S_{day}", "S{date"}) {
    EXPECT_EQ(MistakeOf(SensorText("{ name = \"" + std::string(name) + "\" }")),
              "t.toml:6: tables.SENSOR.daily.name: \"" + std::string(name) +
                  "\" names no table for each day; accepted: a table's name with {date} in it "
                  "once, as \"SENSOR_{date}\"");
  }
  EXPECT_TRUE(MistakeOf(SensorText("{ name = \"a b{date}\" }"))
                  .starts_with("t.toml:6: tables.SENSOR.daily.name: \"a b19700101\" is no name"));
  const std::string long_name(43, 'S');
  EXPECT_TRUE(MistakeOf(SensorText("{ name = \"" + long_name + "{date}\" }"))
                  .starts_with("t.toml:6: tables.SENSOR.daily.name: \"" + long_name));
}

TEST(DailyKeyTest, RefusesNoTimeOfADayNoDurationAndUnknownKeys) {
  for (const char* at : {"24:00", "00:60", "0:30", "midnight", "00:30:00"}) {
    EXPECT_EQ(MistakeOf(SensorText("{ name = \"S_{date}\", at = \"" + std::string(at) + "\" }")),
              "t.toml:6: tables.SENSOR.daily.at: \"" + std::string(at) +
                  "\" is no time of a day; accepted: hours and minutes, UTC, as \"00:30\"");
  }
  EXPECT_TRUE(MistakeOf(SensorText("{ name = \"S_{date}\", keep = \"soon\" }"))
                  .starts_with("t.toml:6: tables.SENSOR.daily.keep: \"soon\" is no duration"));
  EXPECT_TRUE(MistakeOf(SensorText("{ name = \"S_{date}\", hour = 1 }"))
                  .starts_with("t.toml:6: tables.SENSOR.daily.hour: unknown key"));
  EXPECT_TRUE(MistakeOf(SensorText("true"))
                  .starts_with("t.toml:6: tables.SENSOR.daily: is a bool; accepted: a table"));
}

TEST(DailyKeyTest, RefusesANameThatAnotherTableHas) {
  const std::string source = SensorText("{ name = \"SENSOR_{date}\" }");
  const std::string other =
      "[tables.SENSOR_20170726]\npattern = \"new-cell\"\nrow_key = \"{a}\"\nfamilies.M = {}\n";
  EXPECT_EQ(MistakeOf(source + other),
            "t.toml:6: tables.SENSOR.daily: the name SENSOR_{date} is that of table "
            "SENSOR_20170726 for one day; accepted: a name that no other table has");
  const std::string no_date =
      "[tables.SENSOR_20171301]\npattern = \"new-cell\"\nrow_key = \"{a}\"\nfamilies.M = {}\n";
  EXPECT_EQ(MistakeOf(source + no_date), "accepted");
}

TEST(DailyKeyTest, RefusesANameThatANightlyTableOfAnotherMayHave) {
  const std::string first = SensorText("{ name = \"S_{date}\" }");
  const auto second = [](const std::string& name) {
    return SensorText("{ name = \"" + name + "\" }", "{meter}#{ts:day}", "new-column", "OTHER");
  };
  EXPECT_EQ(MistakeOf(first + second("S_{date}")),
            "t.toml:12: tables.OTHER.daily: the name S_{date} may be that of a nightly table of "
            "SENSOR, S_{date}; accepted: a name that no other table has");
  EXPECT_EQ(MistakeOf(first + second("T_{date}")), "accepted");
  EXPECT_EQ(MistakeOf(first + second("S_{date}A")), "accepted");
}

}  // namespace
}  // namespace tallyd

// max_series: which tables a stream that has it may feed.
#include <gtest/gtest.h>

#include <string>

#include "config/file/config.h"

namespace tallyd {
namespace {

std::string SeriesMistake(const std::string& tables) {
  const Result<Config> config =
      ParseConfig("[streams.s]\nlabels = [\"l*\"]\nmax_series = 10\n" + tables, "t.toml");
  return config ? "taken" : config.error().message();
}

std::string TableOf(const std::string& name, const std::string& row_key,
                    const std::string& more = "") {
  return "[tables." + name + "]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"" +
         row_key + "\"\nfamilies.F = {}\n" + more;
}

TEST(LoadSeriesTest, MaxSeriesRefusesATableWhoseSeriesNobodyCounts) {
  const std::string end =
      "; accepted: all fields before the time, another table of the stream that has them so, or no "
      "max_series";
  const auto line = [&](const std::string& why) {
    return "t.toml:4: tables.A.row_key: its series cannot be counted, and stream s has "
           "max_series: " +
           why + end;
  };
  EXPECT_EQ(SeriesMistake(TableOf("A", "{ts:day}#{host}")),
            line("{host} stands behind the time in its key"));
  EXPECT_EQ(SeriesMistake(TableOf("A", "{host}#{ts:ms}#{labels}")),
            line("{labels} stands behind the time in its key"));
  EXPECT_EQ(SeriesMistake(TableOf("A", "{host}#{field}#{ts:ms}")),
            line("its key names {field}"));
  EXPECT_EQ(SeriesMistake(TableOf("A", "{ts:salt(4)}#{host}#{ts:ms}")),
            line("a salt of the time spreads its rows"));
}

TEST(LoadSeriesTest, MaxSeriesTakesATableWhoseFieldsAnotherOneCounts) {
  const std::string by_day = TableOf("A", "{ts:day}#{host}");
  EXPECT_EQ(SeriesMistake(by_day + TableOf("B", "{host}#{labels}#{ts:ms}")), "taken");
  EXPECT_EQ(SeriesMistake(TableOf("B", "{ts:ms}")), "taken");  // Of no field.
  // Fewer fields, or fewer events.
  for (const std::string& other : {TableOf("B", "{rack}#{ts:ms}"),
                                   TableOf("B", "{host}#{ts:ms}", "when = [\"x\"]\n")}) {
    EXPECT_NE(SeriesMistake(by_day + other), "taken") << other;
  }
}

TEST(LoadSeriesTest, TheDefaultOfAProtocolRefusesNoTable) {
  const std::string table =
      "[tables.A]\nstream = \"o\"\npattern = \"single-timestamp\"\nrow_key = "
      "\"{ts:day}#{host}\"\nfamilies.F = {}\n";
  const std::string protocol = "[protocols.opentsdb]\nstream = \"o\"\n";
  EXPECT_TRUE(ParseConfig(protocol + table, "t.toml"));
  EXPECT_FALSE(ParseConfig("[streams.o]\nmax_series = 5\n" + protocol + table, "t.toml"));
}

}  // namespace
}  // namespace tallyd

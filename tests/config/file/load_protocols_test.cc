// [protocols.X]: which streams and tables they make, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/file/config.h"
#include "config/lint/lint.h"

namespace tallyd {
namespace {

using testing::HasSubstr;

constexpr char kInflux[] = "[protocols.influx]\nstream = \"telegraf\"\n";

std::string ProtocolMistake(const std::string& text) {
  const Result<Config> config = ParseConfig(text, "t.toml");
  return config ? "taken" : config.error().message();
}

Config TakenProtocols(const std::string& text) {
  Result<Config> config = ParseConfig(text, "t.toml");
  EXPECT_TRUE(config) << config.error().message();
  return config ? *config : Config();
}

std::string TokenText(const std::string& name, const std::string& role) {
  return "[[auth.tokens]]\nname = \"" + name + "\"\nrole = \"" + role + "\"\nsha256 = \"" +
         std::string(64, 'a') + "\"\n";
}

TEST(LoadProtocolsTest, NoneIsSpokenThatTheFileDoesNotName) {
  EXPECT_EQ(TakenProtocols("").schema->protocols, Protocols());
}

TEST(LoadProtocolsTest, AFileOfOneProtocolHasItsStreamAndTwoTables) {
  const Config config = TakenProtocols(kInflux);
  const Schema& schema = *config.schema;
  EXPECT_EQ(schema.protocols.influx, (InfluxConfig{"telegraf", true}));
  ASSERT_EQ(schema.streams.size(), 1u);
  EXPECT_EQ(schema.streams[0].name, "telegraf");
  EXPECT_TRUE(schema.streams[0].of_protocol);
  ASSERT_EQ(schema.tables.size(), 2u);
  const Table& history = schema.tables[0];
  EXPECT_EQ(history.name, "telegraf");
  EXPECT_EQ(history.pattern, Pattern::kSingleTimestamp);
  EXPECT_EQ(history.row_key.text(), "{measurement}#{labels}#{ts:ms}");
  ASSERT_EQ(history.families.size(), 1u);
  Family family;
  family.name = "m";
  EXPECT_EQ(history.families[0], family);
  ASSERT_EQ(history.columns.size(), 1u);
  EXPECT_EQ(history.columns[0].name.text(), "{field}");
  const Table& latest = schema.tables[1];
  EXPECT_EQ(latest.name, "telegraf_latest");
  EXPECT_EQ(latest.pattern, Pattern::kLatest);
  EXPECT_EQ(latest.row_key.text(), "{measurement}#{labels}");
  EXPECT_TRUE(history.of_protocol && latest.of_protocol);
}

TEST(LoadProtocolsTest, TheStreamsOwnTimeFieldStandsInTheKey) {
  const Config config =
      TakenProtocols(std::string(kInflux) + "[streams.telegraf]\ntime = \"when\"\n");
  EXPECT_EQ(config.schema->streams.size(), 1u);
  EXPECT_EQ(config.schema->tables[0].row_key.text(), "{measurement}#{labels}#{when:ms}");
}

TEST(LoadProtocolsTest, PointsOfOpenTsdbHaveNoMeasurementInTheirKeys) {
  const Config config = TakenProtocols("[protocols.opentsdb]\nstream = \"tsdb\"\n");
  EXPECT_EQ(config.schema->FindTable("tsdb")->row_key.text(), "{labels}#{ts:ms}");
  EXPECT_EQ(config.schema->FindTable("tsdb_latest")->row_key.text(), "{labels}");
}

TEST(LoadProtocolsTest, WithoutDefaultTablesTheFileHasThem) {
  const std::string text = std::string(kInflux) + "tables = false\n";
  EXPECT_THAT(ProtocolMistake(text), HasSubstr("t.toml:3: protocols.influx.tables: leaves stream"));
  const Config config = TakenProtocols(text +
                                       "[tables.telegraf]\npattern = \"single-timestamp\"\n"
                                       "row_key = \"{host}#{ts:ms}\"\nfamilies.f = {}\n");
  ASSERT_EQ(config.schema->tables.size(), 1u);
  EXPECT_FALSE(config.schema->tables[0].of_protocol);
}

TEST(LoadProtocolsTest, MeasurementsThatAreStreamsMakeNone) {
  const Config config = TakenProtocols("[protocols.influx]\nstream = \"{measurement}\"\n");
  EXPECT_FALSE(config.schema->protocols.influx->has_fixed_stream());
  EXPECT_TRUE(config.schema->streams.empty());
  EXPECT_TRUE(config.schema->tables.empty());
}

TEST(LoadProtocolsTest, MistakesSayWhatWouldBeRight) {
  EXPECT_THAT(ProtocolMistake("[protocols.influx]\n"),
              HasSubstr("t.toml:1: protocols.influx.stream: is needed; accepted: "));
  EXPECT_THAT(ProtocolMistake("[protocols.influx]\nstream = \"a b\"\n"),
              HasSubstr("\"a b\" is no name for a stream"));
  EXPECT_THAT(ProtocolMistake("[protocols.opentsdb]\nstream = \"{measurement}\"\n"),
              HasSubstr("is no name for a stream"));
  EXPECT_THAT(ProtocolMistake(std::string(kInflux) + "[protocols.opentsdb]\nstream = \"telegraf\""),
              HasSubstr("is another protocol's stream already"));
  EXPECT_THAT(ProtocolMistake("[protocols.influx]\nstream = \"" + std::string(48, 's') + "\"\n"),
              HasSubstr("no name for a table"));
  EXPECT_THAT(ProtocolMistake(std::string(kInflux) +
                              "[tables.telegraf_latest]\npattern = \"latest\"\n"
                              "row_key = \"{host}\"\nfamilies.f = {}\n"),
              HasSubstr("\"telegraf_latest\", which is the name of another table"));
  EXPECT_THAT(ProtocolMistake("[protocols.graphite]\nstream = \"a\"\n"),
              HasSubstr("protocols.graphite: unknown key"));
}

TEST(LoadProtocolsTest, TelnetIsForLoopback) {
  const std::string start = "[protocols.opentsdb]\nstream = \"tsdb\"\n";
  const Config config = TakenProtocols(start + "telnet = \"[::1]:4242\"\n");
  EXPECT_EQ(config.schema->protocols.opentsdb->telnet, "[::1]:4242");
  for (const char* wrong : {"0.0.0.0:4242", "127.0.0.1", "example.org:4242", ""}) {
    EXPECT_THAT(ProtocolMistake(start + "telnet = \"" + wrong + "\"\n"),
                HasSubstr("is no address of loopback"));
  }
}

TEST(LoadProtocolsTest, TelnetNeedsSomebodysTokenWhereThereAreTokens) {
  const std::string start =
      TokenText("agent", "write") + "[protocols.opentsdb]\nstream = \"tsdb\"\n";
  const std::string telnet = "telnet = \"127.0.0.1:4242\"\n";
  EXPECT_EQ(ProtocolMistake(start), "taken");
  EXPECT_THAT(ProtocolMistake(start + telnet), HasSubstr("with telnet_token = NAME"));
  EXPECT_EQ(ProtocolMistake(start + telnet + "telnet_token = \"agent\"\n"), "taken");
  EXPECT_THAT(ProtocolMistake(start + telnet + "telnet_token = \"other\"\n"),
              HasSubstr("is the name of no token"));
  EXPECT_THAT(ProtocolMistake(TokenText("agent", "read") +
                              "[protocols.opentsdb]\nstream = \"tsdb\"\n" + telnet +
                              "telnet_token = \"agent\"\n"),
              HasSubstr("\"agent\" may not write"));
}

TEST(LoadProtocolsTest, LintTakesAnyFieldOfADeclaredQueryForATagThatTheKeysMayHold) {
  const auto findings_of = [](const std::string& row_key) {
    size_t full_scans = 0;
    const std::string text = "[streams.telegraf]\n[[streams.telegraf.queries]]\nfields = "
                             "[\"host\"]\n[tables.T]\nstream = \"telegraf\"\npattern = "
                             "\"single-timestamp\"\nrow_key = \"" +
                             row_key + "\"\nfamilies.m = {}\n" + kInflux + "tables = false\n";
    for (const LintFinding& finding : Lint(*TakenProtocols(text).schema, {})) {
      full_scans += finding.rule == "L7";
    }
    return full_scans;
  };
  EXPECT_EQ(findings_of("{measurement}#{labels}#{ts:ms}"), 0u);
  EXPECT_EQ(findings_of("{measurement}#{rack}#{ts:ms}"), 1u);
}

TEST(LoadProtocolsTest, LintTellsOfTablesThatTheFileDoesNotSpellOut) {
  size_t told = 0;
  for (const LintFinding& finding : Lint(*TakenProtocols(kInflux).schema, {})) {
    if (finding.rule != "S8") continue;
    ++told;
    EXPECT_EQ(finding.table, "telegraf");
    EXPECT_EQ(finding.severity, Severity::kInfo);
  }
  EXPECT_EQ(told, 1u);
}

}  // namespace
}  // namespace tallyd

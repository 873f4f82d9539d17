#include "config/file/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

Config Parse(const std::string& text) {
  Result<Config> config = ParseConfig(text, "/etc/tallyd/tallyd.toml");
  EXPECT_TRUE(config) << config.error().message();
  return config ? *config : Config();
}

// A table with one family, M, and whatever `more` says.
std::string TableText(const std::string& name, const std::string& pattern,
                      const std::string& more = "",
                      const std::string& row_key = "{hostname}#{ts:ms}") {
  return "[tables." + name + "]\npattern = \"" + pattern + "\"\nrow_key = \"" + row_key +
         "\"\nfamilies.M = {}\n" + more + "\n";
}

// The only column rule of a table of this pattern.
ColumnRule RuleOf(const std::string& pattern, const std::string& more,
                  const std::string& row_key = "{hostname}#{ts:ms}") {
  const Config config = Parse(TableText("T", pattern, more, row_key));
  if (!config.schema || config.schema->tables.size() != 1) return {};
  return config.schema->tables[0].columns.at(0);
}

std::vector<std::string> NamesOf(const auto& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

TEST(ParseConfigTest, AnEmptyFileHasEveryDefault) {
  const Config config = Parse("");
  EXPECT_EQ(config.server.listen, (std::vector<ListenAddress>{{"127.0.0.1:8780", false}}));
  EXPECT_TRUE(config.server.tls.empty());
  EXPECT_EQ(config.server.max_body, 32u << 20);
  EXPECT_EQ(config.server.query_memory, 256u << 20);
  EXPECT_EQ(config.storage.path, "/etc/tallyd/data");
  EXPECT_EQ(config.storage.sync, Sync::kAlways);
  EXPECT_EQ(config.log.level, "info");
  ASSERT_TRUE(config.schema);
  EXPECT_THAT(config.schema->tables, IsEmpty());
}

TEST(ParseConfigTest, AStreamHasTheGuardsOfIngestUnlessItSaysOthers) {
  const Config config = Parse(R"(
[streams.a]
max_future = "off"
[ingest]
min_time = "2001-02-03"
max_future = "1h"
[streams.b]
min_time = 2002-03-04T05:06:07+01:00
time_required = true
)" + TableText("c", "single-timestamp"));
  ASSERT_EQ(config.schema->streams.size(), 3u);
  const IngestGuards& a = config.schema->FindStream("a")->guards;
  EXPECT_EQ(FormatRfc3339(a.min_time), "2001-02-03T00:00:00Z");
  EXPECT_EQ(a.max_future_us, std::nullopt);
  const Stream& b = *config.schema->FindStream("b");
  EXPECT_EQ(FormatRfc3339(b.guards.min_time), "2002-03-04T04:06:07Z");
  EXPECT_EQ(b.guards.max_future_us, 3600 * kUsPerSecond);
  EXPECT_TRUE(b.time_required);
  const Stream& c = *config.schema->FindStream("c");
  EXPECT_EQ(c.guards.min_time, a.min_time) << "a stream that only a table names";
  EXPECT_EQ(c.guards.max_future_us, 3600 * kUsPerSecond);
  EXPECT_FALSE(c.time_required);
}

TEST(ParseConfigTest, AnotherTimeInTheKeyIsTakenWhereTheTimeIsDeclaredOrNotNeeded) {
  const std::string other = "{hostname}#{at:ms}";
  Parse(TableText("T", "single-timestamp", "time = \"at\"", other));
  Parse(TableText("T", "single-timestamp", "time = \"ts\"", other));
  Parse("[streams.T]\ntime = \"ts\"\n" + TableText("T", "single-timestamp", "", other));
  Parse(TableText("T", "single-timestamp", "", "{ts:day}#" + other));
  Parse(TableText("T", "latest", "", other));
  Parse("[tables.T]\npattern = \"aggregate\"\nrow_key = \"" + other +
        "\"\nfamilies.M = { aggregate = \"sum\" }\n");
}

TEST(ParseConfigTest, WithoutIngestTheGuardsAreThoseOfUsualMistakes) {
  const Config config = Parse("[streams.s]\n");
  const IngestGuards& guards = config.schema->streams[0].guards;
  EXPECT_EQ(FormatRfc3339(guards.min_time), "1973-03-03T09:46:40Z");
  EXPECT_EQ(guards.max_future_us, 2 * kUsPerDay);
}

TEST(ParseConfigTest, ReadsEveryServerKey) {
  const ServerConfig server = Parse(R"(
[server]
listen = "[::1]:0"
plaintext = true
threads = 2
query_threads = 3
max_body = "1MiB"
query_memory = "8MiB"
max_connections = 100
header_timeout = "1s"
idle_timeout = "2m"
body_timeout = "500ms"
body_min_rate = "1KiB"
write_timeout = "5s"
drain_timeout = "6s"
)")
                                  .server;
  EXPECT_EQ(server.listen, (std::vector<ListenAddress>{{"[::1]:0", false}}));
  EXPECT_TRUE(server.plaintext);
  EXPECT_EQ(server.threads, 2u);
  EXPECT_EQ(server.query_threads, 3u);
  EXPECT_EQ(server.max_body, 1u << 20);
  EXPECT_EQ(server.query_memory, 8u << 20);
  EXPECT_EQ(server.max_connections, 100u);
  EXPECT_EQ(server.header_timeout_us, kUsPerSecond);
  EXPECT_EQ(server.idle_timeout_us, 120 * kUsPerSecond);
  EXPECT_EQ(server.body_timeout_us, 500 * kUsPerMs);
  EXPECT_EQ(server.body_min_rate, 1024u);
  EXPECT_EQ(server.write_timeout_us, 5 * kUsPerSecond);
  EXPECT_EQ(server.drain_timeout_us, 6 * kUsPerSecond);
}

TEST(ParseConfigTest, ReadsEveryStorageAndLogKey) {
  const Config config = Parse(R"(
[storage]
engine = "leveldb"
path = "/var/lib/tallyd"
sync = "interval"
sync_interval = "200ms"
write_buffer = "4MiB"
seal_window = "1h"
seal_delay = "10s"
purge_deadline = "2h"
seal_cpu = 0.25
block_cache = 0
max_file_size = "2MiB"
bloom_bits = 12
queue_bytes = "8MiB"
group_bytes = "1MiB"
free_space_floor = "32MiB"
ballast = "32MiB"
backup_dir = "/var/backups"
[log]
level = "debug"
format = "json"
)");
  EXPECT_EQ(config.storage.path, "/var/lib/tallyd");
  EXPECT_EQ(config.storage.sync, Sync::kInterval);
  EXPECT_EQ(config.storage.sync_interval_us, 200 * kUsPerMs);
  EXPECT_EQ(config.storage.write_buffer, 4u << 20);
  EXPECT_EQ(config.storage.seal_window_us, 3600 * kUsPerSecond);
  EXPECT_EQ(config.storage.seal_delay_us, 10 * kUsPerSecond);
  EXPECT_EQ(config.storage.purge_deadline_us, 7200 * kUsPerSecond);
  EXPECT_EQ(config.storage.seal_cpu, 0.25);
  EXPECT_EQ(config.storage.block_cache, 0u);
  EXPECT_EQ(config.storage.max_file_size, 2u << 20);
  EXPECT_EQ(config.storage.bloom_bits, 12u);
  EXPECT_EQ(config.storage.queue_bytes, 8u << 20);
  EXPECT_EQ(config.storage.group_bytes, 1u << 20);
  EXPECT_EQ(config.storage.free_space_floor, 32u << 20);
  EXPECT_EQ(config.storage.ballast, 32u << 20);
  EXPECT_EQ(config.storage.backup_dir, "/var/backups");
  EXPECT_EQ(config.log.level, "debug");
  EXPECT_EQ(config.log.format, "json");
}

TEST(ParseConfigTest, EveryAddressIsAccepted) {
  for (const char* listen :
       {"127.0.0.1:0", "127.255.0.9:65535", "localhost:80", "[::1]:8780", "[0:0:0:0:0:0:0:1]:1",
        "0.0.0.0:8780", "[::]:1", "10.0.0.7:443"}) {
    const ServerConfig server = Parse("[server]\nlisten = \"" + std::string(listen) + "\"").server;
    EXPECT_EQ(server.listen, (std::vector<ListenAddress>{{listen, false}}));
  }
}

TEST(ParseConfigTest, ADaemonMayListenOnSeveralAddressesSomeOfThemByTls) {
  const ServerConfig server = Parse(R"(
[server]
listen = [{ at = "127.0.0.1:8780" }, { at = "[::]:8443", tls = true }]
[server.tls]
cert = "tls/cert.pem"
key = "/run/credentials/key.pem"
)")
                                  .server;
  EXPECT_EQ(server.listen,
            (std::vector<ListenAddress>{{"127.0.0.1:8780", false}, {"[::]:8443", true}}));
  EXPECT_EQ(server.tls, (TlsFiles{"/etc/tallyd/tls/cert.pem", "/run/credentials/key.pem", ""}))
      << "paths are relative to the file";
}

TEST(ParseConfigTest, TablesAndStreamsKeepTheOrderOfTheFile) {
  const Config config =
      Parse(TableText("Z", "latest", "stream = \"late\"") + "[streams.first]\n[streams.alone]\n" +
            TableText("A", "latest", "stream = \"first\"") +
            TableText("M", "latest", "stream = \"late\"") + TableText("own", "latest"));
  EXPECT_THAT(NamesOf(config.schema->tables), ElementsAre("Z", "A", "M", "own"));
  EXPECT_THAT(NamesOf(config.schema->streams), ElementsAre("late", "first", "alone", "own"));
  EXPECT_THAT(config.schema->FindStream("late")->tables, ElementsAre(0, 2));
  EXPECT_THAT(config.schema->FindStream("first")->tables, ElementsAre(1));
  EXPECT_THAT(config.schema->FindStream("alone")->tables, IsEmpty());
  EXPECT_EQ(config.schema->FindStream("none"), nullptr);
  EXPECT_EQ(config.schema->FindTable("M")->name, "M");
}

TEST(ParseConfigTest, ReadsStreams) {
  const Config config = Parse(R"(
[streams.server]
time = "when"
unit = "ns"
every = "5s"
[streams.server.fields]
hostname = { personal = true, sequential = true, domain = true, distinct = 100000, keep = "30d" }
"Bid size" = {}
[[streams.server.queries]]
fields = ["hostname"]
time = false
newest_first = true
weight = 2.5
[[streams.server.queries]]
)");
  const Stream& stream = config.schema->streams.at(0);
  EXPECT_EQ(stream.time_field, "when");
  EXPECT_EQ(stream.unit, TimeUnit::kNanoseconds);
  EXPECT_EQ(stream.every_us, 5 * kUsPerSecond);
  const FieldHints& hints = stream.fields.at("hostname");
  EXPECT_TRUE(hints.personal && hints.sequential && hints.domain);
  EXPECT_EQ(hints.distinct, 100'000u);
  EXPECT_EQ(hints.keep_us, 30 * kUsPerDay);
  EXPECT_FALSE(stream.fields.at("Bid size").personal);
  ASSERT_EQ(stream.queries.size(), 2u);
  EXPECT_THAT(stream.queries[0].fields, ElementsAre("hostname"));
  EXPECT_FALSE(stream.queries[0].time);
  EXPECT_TRUE(stream.queries[0].newest_first);
  EXPECT_EQ(stream.queries[0].weight, 2.5);
  EXPECT_TRUE(stream.queries[1].time);
}

TEST(ParseConfigTest, ATableTakesItsStreamsTimeOrItsOwn) {
  const Config config = Parse("[streams.market]\ntime = \"QUOTETIME\"\n" +
                              TableText("QUOTE", "latest", "stream = \"market\"") +
                              TableText("TRADE", "latest",
                                        "stream = \"market\"\ntime = \"TRADETIME\"\n"
                                        "when = [\"TRADETIME\", \"LASTSALE\"]",
                                        "{SYMBOL}#{TRADETIME:ms}"));
  EXPECT_EQ(config.schema->tables[0].time_field, "QUOTETIME");
  EXPECT_EQ(config.schema->tables[1].time_field, "TRADETIME");
  EXPECT_TRUE(config.schema->tables[1].row_key.has_full_time());
  EXPECT_THAT(config.schema->tables[1].when, ElementsAre("TRADETIME", "LASTSALE"));
}

TEST(ParseConfigTest, FamiliesAreInNameOrderWithWhatTheyKeep) {
  const Config config = Parse(TableText("T", "new-cell", R"(
families.B = { max_age = "30d", max_versions = 5, gc = "all" }
families.A = { max_age = "1h" }
columns = [{ family = "B" }]
)"));
  const Table& table = config.schema->tables.at(0);
  EXPECT_THAT(NamesOf(table.families), ElementsAre("A", "B", "M"));
  EXPECT_EQ(table.families[0].max_age_us, 3600 * kUsPerSecond);
  EXPECT_FALSE(table.families[0].expire_by_both);
  EXPECT_EQ(table.families[1].max_versions, 5u);
  EXPECT_TRUE(table.families[1].expire_by_both);
  EXPECT_FALSE(table.families[2].max_age_us.has_value());
  EXPECT_EQ(table.FamilyIndex("B"), 1);
  EXPECT_EQ(table.FamilyIndex("C"), -1);
}

TEST(ParseConfigTest, AnAggregateFamilyHasAKindAndMaybeABucket) {
  const Config config = Parse(R"([tables.T]
pattern = "aggregate"
row_key = "{charity}"
families.donations = { aggregate = "sum", bucket = "1d", max_age = "30d" }
)");
  const Table& table = config.schema->tables.at(0);
  ASSERT_EQ(table.families.size(), 1u);
  EXPECT_EQ(table.families[0].aggregate, Aggregate::kSum);
  EXPECT_EQ(table.families[0].bucket_us, kUsPerDay);
  EXPECT_EQ(KindOf(table.families[0]), "an aggregate family of sum with a bucket of 1d");
  EXPECT_EQ(CellTime(table.families[0], 3 * kUsPerDay + 5), 3 * kUsPerDay);
  ASSERT_EQ(table.columns.size(), 1u);
  EXPECT_EQ(table.columns[0].family, "donations");
  EXPECT_TRUE(table.columns[0].per_field);
}

TEST(ParseConfigTest, APlainTableMayHaveAnAggregateFamilyThatNoRuleFeeds) {
  const Config config = Parse(R"([tables.T]
pattern = "new-cell"
row_key = "{meter}"
families.METER = {}
families.visits = { aggregate = "hll" }
columns = [{ family = "METER" }]
)");
  const Table& table = config.schema->tables.at(0);
  EXPECT_EQ(table.FindFamily("visits")->aggregate, Aggregate::kHll);
  EXPECT_EQ(KindOf(*table.FindFamily("METER")), "a plain family");
}

TEST(ParseConfigTest, LatestMayKeepWholeRows) {
  EXPECT_TRUE(Parse(TableText("T", "latest", "keep = \"row\"")).schema->tables[0].keep_row);
  EXPECT_FALSE(Parse(TableText("T", "latest", "keep = \"cells\"")).schema->tables[0].keep_row);
  EXPECT_FALSE(Parse(TableText("T", "latest")).schema->tables[0].keep_row);
}

TEST(DefaultRuleTest, IsThePatternsOwn) {
  struct Own {
    const char* pattern;
    const char* name;
    const char* value;
    Serialization serialize;
  };
  for (const Own& own :
       {Own{"single-timestamp", "{field}", "{value}", Serialization::kNone},
        Own{"new-cell", "{field}", "{value}", Serialization::kNone},
        Own{"latest", "{field}", "{value}", Serialization::kNone},
        Own{"new-column", "{value}", "", Serialization::kNone},
        Own{"single-timestamp-serialized", "measurements_blob", "", Serialization::kProtobuf},
        Own{"new-cell-serialized", "measurements_blob", "", Serialization::kProtobuf}}) {
    for (const char* columns : {"", "columns = [{ family = \"M\" }]"}) {
      const ColumnRule rule = RuleOf(own.pattern, columns);
      EXPECT_EQ(rule.family, "M");
      EXPECT_EQ(rule.name.text(), own.name) << own.pattern;
      EXPECT_EQ(rule.value.text(), own.value) << own.pattern;
      EXPECT_EQ(rule.serialize, own.serialize) << own.pattern;
      EXPECT_TRUE(rule.per_field) << own.pattern;
    }
  }
}

TEST(ColumnRuleTest, RunsPerFieldOrPerEventAsItSays) {
  struct Case {
    const char* pattern;
    const char* rule;
    bool per_field;
  };
  for (const Case& c : {Case{"single-timestamp", R"(name = "ID", value = "{meter}")", false},
                        Case{"single-timestamp", R"(name = "{hostname}")", false},
                        Case{"single-timestamp", R"(name = "ID", fields = ["meter"])", true},
                        Case{"single-timestamp", R"(value = "{hostname}")", true},
                        Case{"single-timestamp", R"(name = "F", value = "{field}")", true},
                        Case{"new-column", R"(name = "{ts:%H%M}", value = "{value}")", false},
                        Case{"new-column", R"(name = "{ts:%H%M}")", false},
                        Case{"new-column", R"(name = "{value}", value = "")", true},
                        Case{"new-column", R"(value = "{value}")", false},
                        Case{"new-column", R"(rename = { a = "A" })", true}}) {
    const ColumnRule rule =
        RuleOf(c.pattern, "columns = [{ family = \"M\", " + std::string(c.rule) + " }]");
    EXPECT_EQ(rule.per_field, c.per_field) << c.pattern << ": " << c.rule;
  }
}

TEST(ColumnRuleTest, RunsPerFieldWhereTheRowKeyNamesTheField) {
  const std::string columns = R"(columns = [{ family = "M", name = "ID", value = "{meter}" }])";
  EXPECT_TRUE(RuleOf("new-column", columns, "{hostname}#{field}#{ts:week}").per_field);
}

TEST(ColumnRuleTest, ReadsFieldsAndNames) {
  const ColumnRule rule = RuleOf("single-timestamp", R"(columns = [
    { family = "M", names = "compact", rename = { "CPU/CPU1_USR" = "U" }, fields = [
        "CPU/*", "Bid size"] },
  ])");
  EXPECT_THAT(rule.fields, ElementsAre("CPU/*", "Bid size"));
  EXPECT_TRUE(rule.compact_names);
  EXPECT_THAT(rule.rename, ElementsAre(Pair("CPU/CPU1_USR", "U")));
}

TEST(ColumnRuleTest, RenamesKeepTheOrderOfTheFile) {
  const ColumnRule rule =
      RuleOf("single-timestamp", R"(columns = [{ family = "M", rename = { z = "Y", a = "B" } }])");
  EXPECT_THAT(rule.rename, ElementsAre(Pair("z", "Y"), Pair("a", "B")));
}

TEST(ColumnRuleTest, AKeyFieldMayBeRenamedWhereFieldsNamesIt) {
  const ColumnRule rule =
      RuleOf("single-timestamp",
             R"(columns = [{ family = "M", fields = ["hostname"], rename = { hostname = "H" } }])");
  EXPECT_THAT(rule.rename, ElementsAre(Pair("hostname", "H")));
}

TEST(ColumnRuleTest, AnyPatternMaySerialize) {
  const ColumnRule rule = RuleOf("new-cell", R"(columns = [{ family = "M", serialize = "cbor" }])");
  EXPECT_EQ(rule.serialize, Serialization::kCbor);
  EXPECT_EQ(rule.name.text(), "measurements_blob");
  EXPECT_TRUE(rule.per_field);
}

TEST(ColumnRuleTest, TheSerializedPatternMayAlsoHavePlainColumns) {
  const Config config = Parse(TableText("T", "single-timestamp-serialized", R"(columns = [
    { family = "M", serialize = "json", name = "blob" },
    { family = "M", name = "ID", value = "{hostname}" },
  ])"));
  const std::vector<ColumnRule>& rules = config.schema->tables[0].columns;
  EXPECT_EQ(rules[0].serialize, Serialization::kJson);
  EXPECT_EQ(rules[0].name.text(), "blob");
  EXPECT_EQ(rules[1].serialize, Serialization::kNone);
  EXPECT_FALSE(rules[1].per_field);
}

class LoadConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tallyd-config-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }

  std::filesystem::path folder_;
};

TEST_F(LoadConfigTest, ThePathIsRelativeToTheFile) {
  const std::string file = Write("etc/tallyd.toml", "[storage]\npath = \"../data/live\"\n");
  const Result<Config> config = LoadConfig(file);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->storage.path, (folder_ / "data" / "live").string());
  EXPECT_EQ(config->file, file);
}

TEST_F(LoadConfigTest, NamesTheFileThatCannotBeRead) {
  const std::string absent = (folder_ / "absent.toml").string();
  EXPECT_THAT(LoadConfig(absent).error().message(), StartsWith(absent + ": cannot be read"));
  EXPECT_THAT(LoadConfig(folder_.string()).error().message(), HasSubstr("it is a directory"));
}

TEST_F(LoadConfigTest, RefusesAFileThatIsNoText) {
  EXPECT_FALSE(LoadConfig(Write("binary.toml", std::string(1000, '\xff'))));
  EXPECT_THAT(LoadConfig(Write("huge.toml", std::string(17u << 20, '#'))).error().message(),
              HasSubstr("16MiB"));
}

}  // namespace
}  // namespace tallyd

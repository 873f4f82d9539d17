// Every mistake in a configuration file is told as "FILE:LINE: KEY: what is wrong; what is
// accepted".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string MessageOf(const std::string& text) {
  const Result<Config> config = ParseConfig(text, "t.toml");
  if (config) return "accepted";
  EXPECT_EQ(config.error().code(), ErrorCode::kInvalid);
  return config.error().message();
}

struct Wrong {
  const char* name;
  std::string text;     // The file.
  std::string message;  // One whole line, or the start of one where it ends in "...".
};

class MistakeTest : public testing::TestWithParam<Wrong> {
 protected:
  // Lines of the message that begin as expected.
  static bool Tells(const std::string& message, std::string expected) {
    const bool prefix = expected.ends_with("...");
    if (prefix) expected.resize(expected.size() - 3);
    for (size_t at = 0; at <= message.size();) {
      const size_t end = std::min(message.find('\n', at), message.size());
      const std::string line = message.substr(at, end - at);
      if (prefix ? line.starts_with(expected) : line == expected) return true;
      at = end + 1;
    }
    return false;
  }
};

TEST_P(MistakeTest, IsToldWithLineKeyAndWhatIsAccepted) {
  const std::string message = MessageOf(GetParam().text);
  EXPECT_TRUE(Tells(message, "t.toml:" + GetParam().message)) << message;
}

TEST_P(MistakeTest, IsTheOnlyOne) {
  EXPECT_EQ(MessageOf(GetParam().text).find('\n'), std::string::npos) << MessageOf(GetParam().text);
}

// Behind five lines that say which engine it is.
std::string InBigtable(const std::string& rest, const std::string& of_table = {}) {
  std::string text =
      "[storage]\nengine = \"bigtable\"\n[storage.bigtable]\nproject = \"p\"\ninstance = \"i\"\n" +
      rest;
  if (!of_table.empty()) {
    text +=
        "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"{a}#{ts:ms}\"\n"
        "families.M = {}\n" +
        of_table;
  }
  return text;
}
const std::string kTimedStream = "[streams.s]\ntime_required = true\n\n";

std::string NameOf(const testing::TestParamInfo<Wrong>& tested) { return tested.param.name; }

#ifdef TALLYD_HAS_BIGTABLE
INSTANTIATE_TEST_SUITE_P(
    Bigtable, MistakeTest,
    testing::Values(
        Wrong{"BigtableWithoutItsSection", "[storage]\nengine = \"bigtable\"\n",
              "2: storage.engine: has no section of its own..."},
        Wrong{"BigtableOfAnotherEngine", "[storage.bigtable]\nproject = \"p\"\ninstance = \"i\"\n",
              "1: storage.bigtable: is of another engine..."},
        Wrong{"BigtableWithoutProject",
              "[storage]\nengine = \"bigtable\"\n[storage.bigtable]\ninstance = \"i\"\n",
              "3: storage.bigtable.project: is missing..."},
        Wrong{"EmulatorWithoutPort", InBigtable("emulator = \"localhost\"\n"),
              "6: storage.bigtable.emulator: is no address; accepted: HOST:PORT..."},
        Wrong{"EmulatorBesideEndpoint", InBigtable("emulator = \"a:1\"\nendpoint = \"b:2\"\n"),
              "6: storage.bigtable.emulator: stands beside endpoint..."},
        Wrong{"CredentialsThatAreMissing", InBigtable("credentials = \"/nowhere/k.json\"\n"),
              "6: storage.bigtable.credentials: there is no file /nowhere/k.json..."},
        Wrong{"AttemptBeyondDeadline", InBigtable("attempt = \"1m\"\n"),
              "6: storage.bigtable.attempt: one attempt may take longer..."},
        Wrong{"StreamWithoutTimesOnBigtable", InBigtable("[streams.s]\n"),
              "6: streams.s.time_required: the engine \"bigtable\" cannot give arrivals..."},
        Wrong{"MaxBytesOnBigtable", InBigtable(kTimedStream, "max_bytes = \"1GiB\"\n"),
              "9: tables.T.max_bytes: the engine \"bigtable\" forgets by age alone..."},
        Wrong{"LongDailyForBigtable",
              InBigtable("prefix = \"" + std::string(32, 'p') + "\"\n" + kTimedStream,
                         "daily = { name = \"" + std::string(15, 'd') + "{date}\" }\n"),
              "10: tables.T.daily: the engine \"bigtable\" has no tables of longer names..."},
        Wrong{"LongNameOnBigtable",
              InBigtable("prefix = \"" + std::string(32, 'p') + "\"\n[tables." +
                         std::string(19, 'T') +
                         "]\nstream = \"s\"\npattern = \"latest\"\nrow_key = \"{a}\"\n"
                         "families.M = {}\n[streams.s]\ntime_required = true\n"),
              "7: tables.TTTTTTTTTTTTTTTTTTT: its name is longer than 50 bytes..."}),
    NameOf);
#else
INSTANTIATE_TEST_SUITE_P(Bigtable, MistakeTest,
                         testing::Values(Wrong{
                             "NotInThisBuild", InBigtable({}),
                             "2: storage.engine: \"bigtable\" is not in this build..."}),
                         NameOf);
#endif

INSTANTIATE_TEST_SUITE_P(
    Daemon, MistakeTest,
    testing::Values(
        Wrong{"UnknownSection", "[sever]\n",
              "1: sever: unknown key, the nearest is server; accepted: auth, ingest, log, "
              "protocols, server, storage, streams, tables"},
        Wrong{"UnknownKey", "[log]\nlevels = \"info\"\n",
              "2: log.levels: unknown key, the nearest is level; accepted: format, level"},
        Wrong{"QuotedKey", "[log]\n\"a b\" = 1\n", "2: log.\"a b\": unknown key..."},
        Wrong{"NotASection", "server = 1\n", "1: server: is an integer; accepted: a table"},
        Wrong{"WrongType", "[server]\n\nthreads = \"two\"\n",
              "3: server.threads: is a string; accepted: an integer from 0 to 1024"},
        Wrong{"Float", "[server]\nthreads = 1.5\n", "2: server.threads: is a float..."},
        Wrong{"Negative", "[server]\nthreads = -1\n", "2: server.threads: -1 is out of range..."},
        Wrong{"TooMany", "[server]\nthreads = 1025\n",
              "2: server.threads: 1025 is out of range; accepted: an integer from 0 to 1024"},
        Wrong{"NotABool", "[server]\nplaintext = \"yes\"\n",
              "2: server.plaintext: is a string; accepted: true, false"},
        Wrong{"NoSize", "[server]\nmax_body = \"lots\"\n",
              "2: server.max_body: \"lots\" is no size; accepted: a number of bytes or a size..."},
        Wrong{"NegativeSize", "[server]\nmax_body = -5\n", "2: server.max_body: -5 is no size..."},
        Wrong{"SizeOutOfRange", "[server]\nmax_body = \"2GiB\"\n",
              "2: server.max_body: \"2GiB\" is out of range..."},
        Wrong{"SizeOfWrongType", "[server]\nmax_body = true\n",
              "2: server.max_body: is a bool; accepted: a number of bytes..."},
        Wrong{"NoDuration", "[server]\nidle_timeout = \"soon\"\n",
              "2: server.idle_timeout: \"soon\" is no duration; accepted: a positive integer and a "
              "unit..."},
        Wrong{"DurationWithoutUnit", "[server]\nidle_timeout = 5\n",
              "2: server.idle_timeout: is an integer; accepted: a duration like \"500ms\", "
              "\"30m\", \"7d\""},
        Wrong{"DurationOutOfRange", "[server]\nidle_timeout = \"2d\"\n",
              "2: server.idle_timeout: \"2d\" is out of range; accepted: 1ms to 1d"},
        Wrong{"NoAddress", "[server]\nlisten = \"8780\"\n",
              "2: server.listen: \"8780\" is no address; accepted: HOST:PORT..."},
        Wrong{"PortTooGreat", "[server]\nlisten = \"127.0.0.1:65536\"\n",
              "2: server.listen: \"127.0.0.1:65536\" is no address..."},
        Wrong{"HostWithPort", "[server]\nhosts = [\"tallyd.example.org:443\"]\n",
              "2: server.hosts: \"tallyd.example.org:443\" is no host; accepted: names and..."},
        Wrong{"BodiesTooSmall", "[server]\nmax_body = \"1MiB\"\nbody_memory = \"3MiB\"\n",
              "3: server.body_memory: is less than four times max_body, ..."},
        Wrong{"OriginWithPath", "[server]\ncors = [\"https://a.example/x\"]\n",
              "2: server.cors: \"https://a.example/x\" has a path; a browser sends "
              "https://a.example; accepted: origins as browsers send them, ..."},
        Wrong{"HostNoArray", "[server]\nhosts = \"tallyd\"\n", "2: server.hosts: is a string..."},
        Wrong{"PortNoNumber", "[server]\nlisten = \"127.0.0.1:http\"\n", "2: server.listen: ..."},
        Wrong{"ANameOfAnother", "[server]\nlisten = \"127.0.0.1.example.com:1\"\n",
              "2: server.listen: \"127.0.0.1.example.com:1\" is no address..."},
        Wrong{"ListenNowhere", "[server]\nlisten = []\n", "2: server.listen: is empty..."},
        Wrong{"ListenNoTable", "[server]\nlisten = [\"127.0.0.1:1\"]\n",
              "2: server.listen[0]: is a string; accepted: a table in braces"},
        Wrong{"ListenWithoutAt", "[server]\nlisten = [{ tls = false }]\n",
              "2: server.listen[0].at: is missing; accepted: HOST:PORT..."},
        Wrong{"ListenTwice", "[server]\nlisten = [{ at = \"[::1]:1\" }, { at = \"[::1]:1\" }]\n",
              "2: server.listen[1].at: \"[::1]:1\" is there already..."},
        Wrong{"ListenOfUnknownKey", "[server]\nlisten = [{ at = \"[::1]:1\", tlss = true }]\n",
              "2: server.listen[0].tlss: unknown key, the nearest is tls; accepted: at, tls"},
        Wrong{"TlsWithoutCertificate", "[server]\nlisten = [{ at = \"[::1]:1\", tls = true }]\n",
              "2: server.listen: has tls = true, but there is no certificate for it..."},
        Wrong{"TlsWithoutKey", "[server.tls]\ncert = \"a\"\n",
              "1: server.tls.key: is missing; accepted: a file in PEM"},
        Wrong{"TlsOfNoPath", "[server.tls]\ncert = \"\"\nkey = \"k\"\n",
              "2: server.tls.cert: is no path..."},
        Wrong{"UnknownEngine", "[storage]\nengine = \"rocks\"\n",
              "2: storage.engine: \"rocks\" is unknown; accepted: leveldb, bigtable"},
        Wrong{"UnknownSync", "[storage]\nsync = \"never\"\n",
              "2: storage.sync: \"never\" is unknown; accepted: always, interval"},
        Wrong{"EmptyPath", "[storage]\npath = \"\"\n", "2: storage.path: is no path..."},
        Wrong{"MoreThanOneCoreForSealing", "[storage]\nseal_cpu = 1.5\n",
              "2: storage.seal_cpu: is more than one core; accepted: a number above 0, at most 1"},
        Wrong{"TooMuchReserve", "[storage]\nballast = \"60MiB\"\n",
              "2: storage.ballast: free_space_floor and ballast hold back more than 64MiB..."},
        Wrong{"UnknownLevel", "[log]\nlevel = \"loud\"\n",
              "2: log.level: \"loud\" is unknown; accepted: trace, debug, info, warn, error"},
        Wrong{"NoToml", "[server]\nthreads = = 1\n", "2: TOML: ..."},
        Wrong{"KeyTwice", "[log]\nlevel = \"info\"\nlevel = \"warn\"\n", "3: TOML: ..."}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Ingest, MistakeTest,
    testing::Values(
        Wrong{"UnknownKey", "[ingest]\nmin_tim = \"1990-01-01\"\n",
              "2: ingest.min_tim: unknown key, the nearest is min_time; accepted: max_future, "
              "min_time"},
        Wrong{"NoMoment", "[ingest]\nmin_time = \"yesterday\"\n",
              "2: ingest.min_time: \"yesterday\" is no RFC 3339 time..."},
        Wrong{"NoSuchDay", "[ingest]\nmin_time = \"1990-02-30\"\n",
              "2: ingest.min_time: \"1990-02-30T00:00:00Z\" is no RFC 3339 time..."},
        Wrong{"MomentOfAnotherType", "[ingest]\nmin_time = 100000000\n",
              "2: ingest.min_time: is an integer; accepted: a date (\"1973-03-03\")..."},
        Wrong{"NoDuration", "[ingest]\nmax_future = \"never\"\n",
              "2: ingest.max_future: \"never\" is no duration; accepted: off, or..."},
        Wrong{"OfAStream", "[streams.s]\nmax_future = \"200000d\"\n",
              "2: streams.s.max_future: \"200000d\" is no duration; accepted: off, or 1ms "
              "to 36500d"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Streams, MistakeTest,
    testing::Values(
        Wrong{"UnknownKey", "[streams.s]\nunits = \"ms\"\n",
              "2: streams.s.units: unknown key, the nearest is unit; accepted: every, fields, "
              "labels, max_fields, max_future, max_series, min_time, queries, time, time_required, "
              "unit"},
        Wrong{"UnknownUnit", "[streams.s]\nunit = \"minutes\"\n",
              "2: streams.s.unit: \"minutes\" is unknown; accepted: s, ms, us, ns"},
        Wrong{"EmptyTime", "[streams.s]\ntime = \"\"\n", "2: streams.s.time: is empty..."},
        Wrong{"BadName", "[streams.\"a/b\"]\n",
              "1: streams.\"a/b\": \"a/b\" is no name for a stream; accepted: 1 to 128 letters..."},
        Wrong{"NoTable", "[streams]\ns = 1\n", "2: streams.s: is an integer; accepted: a table"},
        Wrong{"UnknownHint", "[streams.s.fields]\nh = { personnel = true }\n",
              "2: streams.s.fields.h.personnel: unknown key, the nearest is personal..."},
        Wrong{"NoneDistinct", "[streams.s.fields]\nh = { distinct = 0 }\n",
              "2: streams.s.fields.h.distinct: 0 is out of range..."},
        Wrong{"QueriesNoArray", "[streams.s]\nqueries = 1\n",
              "2: streams.s.queries: is an integer; accepted: an array of tables"},
        Wrong{"QueryNoTable", "[streams.s]\nqueries = [\n{},\n1]\n",
              "4: streams.s.queries[1]: is an integer; accepted: a table in braces"},
        Wrong{"WeightOfNothing", "[streams.s]\nqueries = [{ weight = 0 }]\n",
              "2: streams.s.queries[0].weight: is out of range; accepted: a number above 0"},
        Wrong{"FieldNotAString", "[streams.s]\nqueries = [{ fields = [\"a\", 1] }]\n",
              "2: streams.s.queries[0].fields: holds an integer; accepted: strings that are not "
              "empty"}),
    NameOf);

// A table T over line 1 to 4, with `more` from line 5 on.
std::string TableText(const std::string& more, const std::string& pattern = "single-timestamp",
                      const std::string& row_key = "{hostname}#{ts:ms}") {
  return "[tables.T]\npattern = \"" + pattern + "\"\nrow_key = \"" + row_key +
         "\"\nfamilies.M = {}\n" + more + "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Tables, MistakeTest,
    testing::Values(
        Wrong{"UnknownKey", TableText("patern = \"latest\""),
              "5: tables.T.patern: unknown key, the nearest is pattern; accepted: columns, daily, "
              "families, fill, flush, keep, max_bytes, pattern, row_key, stream, time, when"},
        Wrong{"NoRowKey", "[tables.T]\npattern = \"latest\"\nfamilies.M = {}\n",
              "1: tables.T.row_key: is needed; accepted: a template, as \"{hostname}#{ts:ms}\""},
        Wrong{"EmptyRowKey", TableText("", "latest", ""), "3: tables.T.row_key: is empty..."},
        Wrong{"BadRowKey", TableText("", "latest", "{hostname"), "3: tables.T.row_key: ..."},
        Wrong{"NoPattern", "[tables.T]\nrow_key = \"{a}\"\nfamilies.M = {}\n",
              "1: tables.T.pattern: is needed; accepted: single-timestamp, "
              "single-timestamp-serialized, new-cell, new-cell-serialized, new-column, latest, "
              "aggregate"},
        Wrong{"UnknownPattern", TableText("", "wide"),
              "2: tables.T.pattern: \"wide\" is unknown; accepted: single-timestamp, "
              "single-timestamp-serialized, new-cell, new-cell-serialized, new-column, latest, "
              "aggregate"},
        Wrong{"EmptyPattern", TableText("", ""), "2: tables.T.pattern: \"\" is unknown..."},
        Wrong{
            "AggregatesIntoAPlainFamily", TableText("", "aggregate"),
            "4: tables.T.families: \"M\" is a plain family, and the pattern aggregate writes into "
            "aggregate ones; accepted: a family with aggregate = ..."},
        Wrong{"BadTableName",
              "[tables.\"a b\"]\npattern = \"latest\"\nrow_key = \"{a}\"\n"
              "families.M = {}\nstream = \"s\"\n",
              "1: tables.\"a b\": \"a b\" is no name for a table; accepted: 1 to 50 letters..."},
        Wrong{"BadStreamName", TableText("stream = \"a/b\""),
              "5: tables.T.stream: \"a/b\" is no name for a stream..."},
        Wrong{"TimeOfAnotherField", TableText("", "single-timestamp", "{hostname}#{timestamp:ms}"),
              "3: tables.T.row_key: has a time of \"timestamp\", while the time of events is "
              "\"ts\"; accepted: time = \"timestamp\" in the table or its stream..."},
        Wrong{"BucketOfAnotherField", TableText("", "new-cell", "{hostname}#{at:day}#{ts:salt(4)}"),
              "3: tables.T.row_key: has a time of \"at\"..."},
        Wrong{"EmptyTime", TableText("time = \"\"", "latest", "{hostname}"),
              "5: tables.T.time: is empty..."},
        Wrong{"KeepElsewhere", TableText("keep = \"row\""),
              "5: tables.T.keep: is for the pattern latest only..."},
        Wrong{"UnknownKeep", TableText("keep = \"rows\"", "latest"),
              "5: tables.T.keep: \"rows\" is unknown; accepted: cells, row"},
        Wrong{"NoFamily", "[tables.T]\npattern = \"latest\"\nrow_key = \"{a}\"\n",
              "1: tables.T.families: at least one is needed; accepted: families.NAME = {}..."},
        Wrong{"EmptyFamilies",
              "[tables.T]\npattern = \"latest\"\nrow_key = \"{a}\"\nfamilies = {}\n",
              "4: tables.T.families: at least one is needed..."},
        Wrong{"FamiliesOfWrongType",
              "[tables.T]\npattern = \"latest\"\nrow_key = \"{a}\"\nfamilies = [\"M\"]\n",
              "4: tables.T.families: is an array; accepted: a table"},
        Wrong{
            "BadFamilyName", TableText("families.\"a:b\" = {}\ncolumns = [{ family = \"M\" }]"),
            "5: tables.T.families.\"a:b\": \"a:b\" is no name for a family; accepted: 1 to 64..."},
        Wrong{"FlushOfLatest", TableText("flush = \"1m\"", "latest"),
              "5: tables.T.flush: is for the pattern single-timestamp, a row per interval; "
              "accepted: no flush"},
        Wrong{"FlushTooShort", TableText("flush = \"1ms\""),
              "5: tables.T.flush: \"1ms\" is out of range; accepted: 100ms to 1d"},
        Wrong{"FlushOfWhatIsNotMeasured",
              TableText(
                  "flush = \"1m\"\ncolumns = [{ family = \"M\", name = \"n\", value = \"1\" }]"),
              "5: tables.T.flush: adds up what each rule measures, and a rule for family M writes "
              "something else; accepted: rules whose value is {value}"},
        Wrong{"MaxBytesOfLatest", TableText("max_bytes = \"1GiB\"", "latest"),
              "5: tables.T.max_bytes: is for tables with a history: a latest table is as large as "
              "its rows, and has no oldest ones to let go; accepted: no max_bytes"},
        Wrong{"MaxBytesTooSmall", TableText("max_bytes = 10"),
              "5: tables.T.max_bytes: 10 is out of range; accepted: a number of bytes or a size "
              "like \"64KiB\", \"32MiB\", \"1GiB\", from 1KiB to 1048576TiB"}),
    NameOf);

// A table T whose family M, on line 4, has these keys.
std::string FamilyText(const std::string& keys, const std::string& pattern = "new-cell") {
  return "[tables.T]\npattern = \"" + pattern + "\"\nrow_key = \"{hostname}\"\nfamilies.M = { " +
         keys + " }\n";
}

INSTANTIATE_TEST_SUITE_P(
    Families, MistakeTest,
    testing::Values(
        Wrong{"UnknownKey", FamilyText("max_ages = \"1d\""),
              "4: tables.T.families.M.max_ages: unknown key, the nearest is max_age; accepted: "
              "aggregate, bucket, gc, max_age, max_versions"},
        Wrong{"NoAge", FamilyText("max_age = \"long\""),
              "4: tables.T.families.M.max_age: \"long\" is no duration..."},
        Wrong{"NoVersion", FamilyText("max_versions = 0"),
              "4: tables.T.families.M.max_versions: 0 is out of range; accepted: an integer from 1 "
              "to 2147483647"},
        Wrong{"UnknownGc", FamilyText("gc = \"some\", max_versions = 1"),
              "4: tables.T.families.M.gc: \"some\" is unknown; accepted: any, all"},
        Wrong{"GcByBothOfOne", FamilyText("gc = \"all\", max_versions = 1"),
              "4: tables.T.families.M.gc: \"all\" needs something to expire by twice..."},
        Wrong{"LatestWithVersions", FamilyText("max_versions = 2", "latest"),
              "4: tables.T.families.M.max_versions: a latest table keeps one version of a cell; "
              "accepted: 1, or no max_versions"},
        Wrong{"LatestByBoth",
              FamilyText("gc = \"all\", max_versions = 1, max_age = \"1d\"", "latest"),
              "4: tables.T.families.M.gc: a latest table has one version..."},
        Wrong{"UnknownAggregate", FamilyText("aggregate = \"avg\"", "aggregate"),
              "4: tables.T.families.M.aggregate: \"avg\" is unknown; accepted: sum, min, max, hll"},
        Wrong{"AggregateOfAPlainRule", FamilyText("aggregate = \"sum\""),
              "4: tables.T.families: \"M\" is an aggregate family of sum, and the pattern new-cell "
              "writes plain cells; accepted: a plain family, or the pattern aggregate"},
        Wrong{"LatestAggregate", FamilyText("aggregate = \"sum\"", "latest"),
              "4: tables.T.families.M.aggregate: a latest table keeps the newest values..."},
        Wrong{
            "BucketOfAPlainFamily", FamilyText("bucket = \"1d\""),
            "4: tables.T.families.M.bucket: is for aggregate families; accepted: aggregate beside "
            "it, or no bucket"},
        Wrong{"BucketThatDividesNoDay",
              FamilyText("aggregate = \"sum\", bucket = \"7h\"", "aggregate"),
              "4: tables.T.families.M.bucket: divides no day; accepted: what divides a day..."},
        Wrong{"BucketAsLongAsTheAge",
              FamilyText("aggregate = \"sum\", bucket = \"1d\", max_age = \"24h\"", "aggregate"),
              "4: tables.T.families.M.bucket: a bucket of 1d is not shorter than max_age, 1d; "
              "accepted: a bucket that is shorter than max_age"}),
    NameOf);

// A table T with these column rules, the first on line 6.
std::string ColumnsText(const std::string& rules, const std::string& pattern = "single-timestamp",
                        const std::string& row_key = "{hostname}#{ts:ms}") {
  return TableText("columns = [\n" + rules + "]", pattern, row_key);
}

INSTANTIATE_TEST_SUITE_P(
    Columns, MistakeTest,
    testing::Values(
        Wrong{"APlainRuleIntoAnAggregateFamily",
              TableText("families.S = { aggregate = \"sum\" }\n"
                        "columns = [\n{ family = \"M\" },\n{ family = \"S\" }]"),
              "8: tables.T.columns[1].family: \"S\" is an aggregate family of sum, and the pattern "
              "single-timestamp writes plain cells..."},
        Wrong{
            "AnAggregateRuleIntoAPlainFamily",
            TableText("families.S = { aggregate = \"sum\" }\n"
                      "columns = [\n{ family = \"M\" },\n{ family = \"S\", fields = [\"x\"] }]",
                      "aggregate"),
            "7: tables.T.columns[0].family: \"M\" is a plain family, and the pattern aggregate..."},
        Wrong{"ASerializedAggregate",
              TableText("families.S = { aggregate = \"sum\" }\n"
                        "columns = [{ family = \"S\", serialize = \"json\" }]",
                        "aggregate"),
              "6: tables.T.columns[0].serialize: an aggregate family merges single values..."},
        Wrong{"UnknownKey", ColumnsText("{ family = \"M\" },\n{ family = \"M\", nane = \"x\" }"),
              "7: tables.T.columns[1].nane: unknown key, the nearest is name; accepted: family, "
              "fields, name, names, rename, serialize, value"},
        Wrong{"NotAnArray", TableText("columns = { family = \"M\" }"),
              "5: tables.T.columns: is a table; accepted: an array of tables"},
        Wrong{"NoRule", TableText("columns = []"), "5: tables.T.columns: has no rule..."},
        Wrong{"SeveralFamilies", TableText("families.N = {}"),
              "1: tables.T.columns: is needed, since the table has several families..."},
        Wrong{"NoFamily", ColumnsText("{ name = \"x\" }"),
              "6: tables.T.columns[0].family: is needed; accepted: M"},
        Wrong{"UndeclaredFamily", ColumnsText("{ family = \"N\" }"),
              "6: tables.T.columns[0].family: \"N\" is not one of the table's families; accepted: "
              "M"},
        Wrong{"NoFields", ColumnsText("{ family = \"M\", fields = [] }"),
              "6: tables.T.columns[0].fields: is empty..."},
        Wrong{"EmptyField", ColumnsText("{ family = \"M\", fields = [\"\"] }"),
              "6: tables.T.columns[0].fields: holds an empty string..."},
        Wrong{"FieldTwice", ColumnsText("{ family = \"M\", fields = [\"a\", \"b\", \"a\"] }"),
              "6: tables.T.columns[0].fields: names \"a\" twice; accepted: each field once"},
        Wrong{"BadName", ColumnsText("{ family = \"M\", name = \"{field\" }"),
              "6: tables.T.columns[0].name: ..."},
        Wrong{"BadValue", ColumnsText("{ family = \"M\", value = \"{value:wide}\" }"),
              "6: tables.T.columns[0].value: ..."},
        Wrong{"UnknownNames", ColumnsText("{ family = \"M\", names = \"short\" }"),
              "6: tables.T.columns[0].names: \"short\" is unknown; accepted: compact"},
        Wrong{"UnknownSerialize", ColumnsText("{ family = \"M\", serialize = \"xml\" }"),
              "6: tables.T.columns[0].serialize: \"xml\" is unknown; accepted: protobuf, json, "
              "cbor"},
        Wrong{
            "SerializedWithPlaceholder",
            ColumnsText("{ family = \"M\", serialize = \"json\", name = \"{hostname}\" }"),
            "6: tables.T.columns[0].name: holds a placeholder, but `serialize` makes one cell..."},
        Wrong{"SerializedWithValue",
              ColumnsText("{ family = \"M\", serialize = \"json\", value = \"{value}\" }"),
              "6: tables.T.columns[0].value: has no meaning where `serialize`..."},
        Wrong{"SerializedWithRename",
              ColumnsText("{ family = \"M\", rename = { a = \"b\" } }",
                          "single-timestamp-serialized"),
              "6: tables.T.columns[0].rename: has no meaning where `serialize`..."},
        Wrong{"RenameOfAFieldNotTaken",
              ColumnsText("{ family = \"M\", fields = [\"CPU/*\"], rename = { IO = \"i\" } }"),
              "6: tables.T.columns[0].rename.IO: the rule does not take this field; accepted: "
              "fields that it takes, CPU/*; those that the row key or the time uses only by their "
              "name"},
        Wrong{
            "RenameOfAKeyFieldByGlob",
            ColumnsText("{ family = \"M\", fields = [\"host*\"], rename = { hostname = \"h\" } }"),
            "6: tables.T.columns[0].rename.hostname: the rule does not take this field..."},
        Wrong{"RenameOfAKeyField", ColumnsText("{ family = \"M\", rename = { hostname = \"h\" } }"),
              "6: tables.T.columns[0].rename.hostname: the rule does not take this field..."},
        Wrong{"RenameOfTheTime", ColumnsText("{ family = \"M\", rename = { ts = \"t\" } }"),
              "6: tables.T.columns[0].rename.ts: the rule does not take this field..."},
        Wrong{"RenamesToOneName",
              ColumnsText("{ family = \"M\", rename = { a = \"x\", b = \"x\" } }"),
              "6: tables.T.columns[0].rename.b: \"x\" is also the new name of \"a\"; accepted: a "
              "qualifier of its own for each field"},
        Wrong{"RenameToANumber", ColumnsText("{ family = \"M\", rename = { a = 1 } }"),
              "6: tables.T.columns[0].rename.a: is an integer; accepted: a string"},
        Wrong{"RenameOncePerEvent",
              ColumnsText("{ family = \"M\", name = \"ID\", rename = { a = \"b\" } }"),
              "6: tables.T.columns[0].rename: is for the names of fields, but this rule runs once "
              "per event..."}),
    NameOf);

TEST(MistakesTest, AllAreToldAtOnceInTheFilesOrder) {
  EXPECT_EQ(MessageOf("[tables.T]\npattern = \"wide\"\nrow_key = 5\nfamilies.M = {}\n"
                      "[server]\nthreds = 1\nlisten = \"x\"\n[log]\nlevel = 1\n"),
            "t.toml:2: tables.T.pattern: \"wide\" is unknown; accepted: single-timestamp, "
            "single-timestamp-serialized, new-cell, new-cell-serialized, new-column, latest, "
            "aggregate\n"
            "t.toml:3: tables.T.row_key: is an integer; accepted: a string\n"
            "t.toml:6: server.threds: unknown key, the nearest is threads; accepted: "
            "body_memory, body_min_rate, body_timeout, cors, drain_timeout, header_timeout, hosts, "
            "idle_timeout, listen, max_body, max_connections, plaintext, query_memory, "
            "query_threads, threads, tls, write_timeout\n"
            "t.toml:7: server.listen: \"x\" is no address; accepted: HOST:PORT, as "
            "\"127.0.0.1:8780\" or \"[::1]:8780\"; port 0 takes a free one\n"
            "t.toml:9: log.level: is an integer; accepted: a string");
}

std::string ManyTables(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "[tables.T" + std::to_string(i) +
            "]\npattern = \"latest\"\nrow_key = \"{a}\"\nfamilies.M = {}\n";
  }
  return text;
}

TEST(MistakesTest, TheThousandAndFirstTableIsOneTooMany) {
  EXPECT_EQ(MessageOf(ManyTables(1000)), "accepted");
  EXPECT_THAT(MessageOf(ManyTables(1001)),
              AllOf(HasSubstr("tables: there are 1001 tables; accepted: 1000 at most"),
                    Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace tallyd

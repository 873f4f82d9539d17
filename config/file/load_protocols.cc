// [protocols.X]: which protocols are spoken, which streams they feed, and the tables that such a
// stream has by default.
#include <algorithm>
#include <utility>

#include "config/file/exposure.h"
#include "config/file/load.h"
#include "config/file/read_keys.h"

namespace tallyd {
namespace {

constexpr std::string_view kDefaultFamily = "m";
constexpr std::string_view kLatestEnd = "_latest";
// What agents send is bounded by nobody else.
constexpr uint64_t kMaxSeries = 1'000'000;
constexpr uint64_t kMaxFields = 10'000;

// What a protocol's section says of its stream.
struct StreamOfProtocol {
  std::string name;
  bool has_tables = true;
  std::string_view key_start;  // Of the default tables, before the labels.
};

Table DefaultTable(const TomlReader& section, std::string name, const std::string& stream,
                   Pattern pattern, const std::string& row_key, const std::string& time_field) {
  Table table;
  table.name = std::move(name);
  table.stream = stream;
  table.pattern = pattern;
  table.time_field = time_field;
  table.of_protocol = true;
  Result<RowKeyTemplate> key = RowKeyTemplate::Parse(row_key, time_field);
  if (key) {
    table.row_key = std::move(*key);
  } else {
    section.Mistake("stream", "has a time field that its default tables cannot name: " +
                                  key.error().message() +
                                  "; accepted: another `time` in [streams." + stream +
                                  "], or tables = false and a table of the file's own");
  }
  Family family;
  family.name = kDefaultFamily;
  table.families.push_back(std::move(family));
  table.columns.push_back(DefaultRule(table));
  return table;
}

// Adds the table unless its name cannot be, or is another's.
void AddTable(const TomlReader& section, Table table, std::vector<Placed<Table>>* tables) {
  const std::string cure =
      "; accepted: a stream of another name, or tables = false and tables of the file's own";
  const auto is_taken = [&](const Placed<Table>& other) {
    return other.item.name == table.name ||
           (other.item.daily && other.item.daily->FindDay(table.name));
  };
  const std::string wrong = NameMistake(table.name, "table", kMaxTableNameBytes);
  if (!wrong.empty()) {
    section.Mistake("stream", "would have a default table of a name that none can have: " + wrong);
  } else if (std::ranges::any_of(*tables, is_taken)) {
    section.Mistake("stream", "would have a default table \"" + table.name +
                                  "\", which is the name of another table" + cure);
  } else if (tables->size() >= kMaxTables) {
    section.Mistake("stream", "would have a default table beyond the " +
                                  std::to_string(kMaxTables) + " that there may be" + cure);
  } else {
    tables->push_back({std::move(table), section.line()});
  }
}

void AddDefaultTables(const TomlReader& section, const StreamOfProtocol& of,
                      const std::string& time_field, std::vector<Placed<Table>>* tables) {
  const std::string entity = std::string(of.key_start) + "{labels}";
  AddTable(section,
           DefaultTable(section, of.name, of.name, Pattern::kSingleTimestamp,
                        entity + "#{" + time_field + ":ms}", time_field),
           tables);
  AddTable(section,
           DefaultTable(section, of.name + std::string(kLatestEnd), of.name, Pattern::kLatest,
                        entity, time_field),
           tables);
}

// The protocol's own stream, which is made if no section of the file is about it.
void TakeStream(const TomlReader& section, const StreamOfProtocol& of, ReadSchema* schema) {
  const std::string wrong = NameMistake(of.name, "stream", kMaxStreamNameBytes);
  if (!wrong.empty()) {
    section.Mistake("stream", wrong);
    return;
  }
  auto stream = std::ranges::find_if(schema->streams, [&](const Placed<Stream>& placed) {
    return placed.item.name == of.name;
  });
  if (stream == schema->streams.end()) {
    Placed<Stream> added;
    added.item.name = of.name;
    added.item.guards = schema->guards;
    added.line = section.line();
    stream = schema->streams.insert(stream, std::move(added));
  }
  if (stream->item.of_protocol) {
    section.Mistake("stream", "\"" + of.name +
                                  "\" is another protocol's stream already; accepted: a stream "
                                  "of its own");
    return;
  }
  stream->item.of_protocol = true;
  if (!stream->item.max_series) stream->item.max_series = kMaxSeries;
  if (!stream->item.max_fields) stream->item.max_fields = kMaxFields;
  const auto feeds = [&](const Placed<Table>& table) { return table.item.stream == of.name; };
  if (of.has_tables) {
    AddDefaultTables(section, of, stream->item.time_field, &schema->tables);
  } else if (std::ranges::none_of(schema->tables, feeds)) {
    section.Mistake("tables", "leaves stream \"" + of.name +
                                  "\" without a table, so that all would be refused; accepted: "
                                  "true, or a table of the file with stream = \"" +
                                  of.name + "\"");
  }
}

void CheckHasStream(const TomlReader& section, std::string_view accepted) {
  if (section.Has("stream")) return;
  section.Mistake("stream", "is needed; accepted: " + std::string(accepted));
}

InfluxConfig ReadInflux(TomlReader section, ReadSchema* schema) {
  InfluxConfig influx;
  ReadKeys(&section, &influx);
  section.Finish();
  CheckHasStream(section,
                 "the name of a stream, whose field `measurement` tells measurements apart, or "
                 "\"{measurement}\": each to the stream of its name");
  if (section.IsString("stream") && influx.has_fixed_stream()) {
    TakeStream(section, {influx.stream, influx.tables, "{measurement}#"}, schema);
  }
  return influx;
}

// With tokens a line of telnet needs somebody's, too: it can bring none.
void CheckTelnetToken(const TomlReader& section, const OpenTsdbConfig& opentsdb,
                      const std::vector<TokenConfig>& tokens) {
  const bool is_named = !opentsdb.telnet_token.empty();
  if (!is_named && !opentsdb.telnet.empty() && !tokens.empty()) {
    section.Mistake("telnet",
                    "takes lines that can bring no token, while [[auth.tokens]] are on; accepted: "
                    "with telnet_token = NAME of a token whose role and scope they have");
  }
  if (!is_named) return;
  const auto token = std::ranges::find(tokens, opentsdb.telnet_token, &TokenConfig::name);
  if (token == tokens.end()) {
    section.Mistake("telnet_token", "\"" + opentsdb.telnet_token +
                                        "\" is the name of no token; accepted: a name of "
                                        "[[auth.tokens]] whose role is write");
  } else if (!token->roles.Have(Role::kWrite)) {
    section.Mistake("telnet_token", "\"" + opentsdb.telnet_token +
                                        "\" may not write; accepted: a token whose role is write");
  }
}

OpenTsdbConfig ReadOpenTsdb(TomlReader section, const std::vector<TokenConfig>& tokens,
                            ReadSchema* schema) {
  OpenTsdbConfig opentsdb;
  ReadKeys(&section, &opentsdb);
  section.Finish();
  CheckHasStream(section, "the name of a stream, whose fields are the metrics");
  CheckTelnetToken(section, opentsdb, tokens);
  if (section.IsString("stream")) {
    TakeStream(section, {opentsdb.stream, opentsdb.tables, ""}, schema);
  }
  return opentsdb;
}

}  // namespace

void CheckTelnet(const TomlReader& opentsdb, OpenTsdbConfig* filled) {
  if (IsListenAddress(filled->telnet) && IsLoopbackAddress(filled->telnet)) return;
  opentsdb.Mistake("telnet", "\"" + filled->telnet +
                                 "\" is no address of loopback, and its lines pass in clear; "
                                 "accepted: HOST:PORT on loopback, as \"127.0.0.1:4242\", "
                                 "\"[::1]:4242\"");
}

Protocols ReadProtocols(TomlReader reader, const std::vector<TokenConfig>& tokens,
                        ReadSchema* schema) {
  Protocols protocols;
  for (TomlReader& section : reader.Table("influx")) {
    protocols.influx = ReadInflux(section, schema);
  }
  for (TomlReader& section : reader.Table("opentsdb")) {
    protocols.opentsdb = ReadOpenTsdb(section, tokens, schema);
  }
  reader.Finish();
  return protocols;
}

}  // namespace tallyd

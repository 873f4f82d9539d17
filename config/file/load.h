// The sections of the configuration file, one reader each; ParseConfig (config/file/config.cc)
// calls them. Each reads its keys by their table (config/file/keys.h), does what a table cannot,
// collects mistakes, and leaves defaults for what is absent. Only for the loader.
#ifndef TALLYD_CONFIG_FILE_LOAD_H_
#define TALLYD_CONFIG_FILE_LOAD_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.h"
#include "config/file/toml_reader.h"

namespace tallyd {

void ReadServer(TomlReader server, ServerConfig* config);
// False where the key is absent or wrong.
bool ReadListen(TomlReader* server, std::string_view key, std::vector<ListenAddress>* listen);
// What is a path in the file is meant from where the file is, wherever the daemon was started.
std::string FromFile(const std::string& path, const std::string& file);
// `file`: for paths that are looked for.
void ReadStorage(TomlReader storage, const std::string& file, StorageConfig* config);
void ReadBigtable(TomlReader bigtable, const std::string& file, BigtableConfig* config);
// The section is there where the engine needs it, and only then; BIGTABLE_EMULATOR_HOST is taken.
void CheckBigtable(const TomlReader& storage, StorageConfig* config);
void ReadLog(TomlReader log, LogConfig* config);
std::vector<TokenConfig> ReadTokens(TomlReader auth);

// What the tables have beside the types of single keys: `filled` has the key, read right.
void CheckHosts(const TomlReader& server, ServerConfig* filled);
void CheckCors(const TomlReader& server, ServerConfig* filled);
void CheckPath(const TomlReader& storage, StorageConfig* filled);
void CheckBackupDir(const TomlReader& storage, StorageConfig* filled);
void CheckEmulator(const TomlReader& bigtable, BigtableConfig* filled);
void CheckEndpoint(const TomlReader& bigtable, BigtableConfig* filled);
void CheckPrefix(const TomlReader& bigtable, BigtableConfig* filled);
void CheckTokenName(const TomlReader& token, TokenConfig* filled);
void CheckTokenHash(const TomlReader& token, TokenConfig* filled);
void CheckStreamTime(const TomlReader& stream, Stream* filled);
void CheckTableStream(const TomlReader& table, Table* filled);
void CheckTableTime(const TomlReader& table, Table* filled);
void CheckRuleFields(const TomlReader& rule, ColumnRule* filled);
void CheckTelnet(const TomlReader& opentsdb, OpenTsdbConfig* filled);

// Where a section stands in the file, so that streams and tables can be put in one order.
template <class T>
struct Placed {
  T item;
  uint32_t line = 0;
};

void ReadIngest(TomlReader ingest, IngestGuards* guards);

// What was read of the sections that make the schema.
struct ReadSchema {
  IngestGuards guards;  // Of streams that say nothing of them.
  std::vector<Placed<Stream>> streams;
  std::vector<Placed<Table>> tables;
};

// `guards`: of streams that say nothing of them.
std::vector<Placed<Stream>> ReadStreams(TomlReader streams, const IngestGuards& guards);

// `streams` tell the time fields of tables that do not name their own. A table with mistakes that
// leave its shape unknown is left out.
std::vector<Placed<Table>> ReadTables(TomlReader tables,
                                      const std::vector<Placed<Stream>>& streams);

// The column rules of one table whose pattern, row key, time field and families are read. Without
// `columns`: its pattern's default rule.
void ReadColumns(TomlReader* table_reader, Table* table);

// The rule of a table whose pattern, time field and first family are known. REQUIRES: a family.
ColumnRule DefaultRule(const Table& table);

// [protocols.X]. Adds to the schema, whose streams and tables of their own are read, the protocols'
// streams and their default tables. `tokens`: those that telnet_token may name.
Protocols ReadProtocols(TomlReader protocols, const std::vector<TokenConfig>& tokens,
                        ReadSchema* schema);

// `daily` of one table whose pattern and row key are read.
void ReadDaily(TomlReader* table_reader, Table* table);
// Names of nightly tables that another table of the file has, or may have. `readers` are those of
// the tables, in the same order.
void CheckNightlyNames(const std::vector<Placed<Table>>& all,
                       const std::vector<TomlReader>& readers);

// The streams to which the file itself gives max_series: that of a protocol's stream is a default.
std::vector<std::string> NamesOfBounded(const std::vector<Placed<Stream>>& streams);
// The tables of these streams whose series nobody could hold to max_series, by their lines.
void CheckSeriesAreCounted(const std::vector<std::string>& bounded,
                           const std::vector<Placed<Table>>& tables, Mistakes* mistakes);

// What of the schema the engine "bigtable" cannot hold, by the lines of its streams and tables.
void CheckHeldByBigtable(const BigtableConfig& config, const std::vector<Placed<Stream>>& streams,
                         const std::vector<Placed<Table>>& tables, Mistakes* mistakes);

// Names of streams, tables and families are parts of URLs and identifiers of Cloud Bigtable. What
// is wrong with one and what is accepted; empty when nothing is.
std::string NameMistake(std::string_view name, std::string_view what, size_t longest);

// The rule of lint that a template breaks which is well formed, but too wide or not to be read
// back; 0 of one that is malformed.
inline int RuleOfTemplate(const Error& error) {
  if (error.code() == ErrorCode::kTooLarge) return 12;
  return error.code() == ErrorCode::kUnprocessable ? 14 : 0;
}

inline constexpr size_t kMaxTableNameBytes = 50;
inline constexpr size_t kMaxFamilyNameBytes = 64;
inline constexpr size_t kMaxStreamNameBytes = 128;
inline constexpr size_t kMaxTokenNameBytes = 128;

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_LOAD_H_

#include "config/file/config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "config/file/lenient_config.h"
#include "config/file/load.h"

namespace tallyd {
namespace {

constexpr uintmax_t kMaxFileBytes = 16u << 20;

// Streams stand where their section does, or else where the first table that names them stands.
Schema AssembleSchema(ReadSchema read, Protocols protocols) {
  std::vector<Placed<Stream>>& streams = read.streams;
  std::vector<Placed<Table>>& tables = read.tables;
  for (const Placed<Table>& table : tables) {
    const std::string& name = table.item.stream;
    const bool exists =
        std::any_of(streams.begin(), streams.end(),
                    [&name](const Placed<Stream>& stream) { return stream.item.name == name; });
    if (exists) continue;
    Placed<Stream> added;
    added.item.name = name;
    added.item.guards = read.guards;
    added.line = table.line;
    streams.push_back(std::move(added));
  }
  std::stable_sort(
      streams.begin(), streams.end(),
      [](const Placed<Stream>& a, const Placed<Stream>& b) { return a.line < b.line; });
  Schema schema;
  for (Placed<Stream>& stream : streams) schema.streams.push_back(std::move(stream.item));
  for (Placed<Table>& table : tables) {
    for (Stream& stream : schema.streams) {
      if (stream.name == table.item.stream) stream.tables.push_back(schema.tables.size());
    }
    schema.tables.push_back(std::move(table.item));
  }
  schema.protocols = std::move(protocols);
  return schema;
}

struct Reading {
  Config config;
  Mistakes mistakes;
  ReadSchema schema;
  Protocols protocols;
};

void ReadRoot(const toml::table& parsed, Reading* reading) {
  TomlReader root(parsed, "", 1, &reading->mistakes);
  Config& config = reading->config;
  ReadSchema& schema = reading->schema;
  for (TomlReader& section : root.Table("server")) ReadServer(section, &config.server);
  for (TomlReader& section : root.Table("storage")) {
    ReadStorage(section, config.file, &config.storage);
  }
  for (TomlReader& section : root.Table("log")) ReadLog(section, &config.log);
  for (TomlReader& section : root.Table("ingest")) ReadIngest(section, &schema.guards);
  for (TomlReader& section : root.Table("streams")) {
    schema.streams = ReadStreams(section, schema.guards);
  }
  for (TomlReader& section : root.Table("tables")) {
    schema.tables = ReadTables(section, schema.streams);
  }
  for (TomlReader& section : root.Table("auth")) config.tokens = ReadTokens(section);
  const std::vector<std::string> bounded = NamesOfBounded(schema.streams);
  for (TomlReader& section : root.Table("protocols")) {
    reading->protocols = ReadProtocols(section, config.tokens, &schema);
  }
  root.Finish();
  CheckSeriesAreCounted(bounded, schema.tables, &reading->mistakes);
  if (config.storage.engine == "bigtable") {
    // No protocol asks for a time, and arrivals of several daemons cannot be told apart.
    for (Placed<Stream>& stream : schema.streams) {
      stream.item.time_required |= stream.item.of_protocol;
    }
    CheckHeldByBigtable(config.storage.bigtable, schema.streams, schema.tables,
                        &reading->mistakes);
  }
}

// toml++ throws, and only here: its shared library is built that way.
Reading ReadText(const std::string& text, const std::string& file) {
  Reading reading;
  reading.config.file = file;
  try {
    const toml::table parsed = toml::parse(text);
    ReadRoot(parsed, &reading);
  } catch (const toml::parse_error& error) {
    reading.mistakes.Add(error.source().begin.line, "TOML",
                         std::string(error.description()) + "; accepted: TOML 1.0");
  }
  return reading;
}

Config Finish(Reading reading) {
  Config config = std::move(reading.config);
  config.storage.path = FromFile(config.storage.path, config.file);
  if (!config.storage.backup_dir.empty()) {
    config.storage.backup_dir = FromFile(config.storage.backup_dir, config.file);
  }
  TlsFiles& tls = config.server.tls;
  for (std::string* file : {&tls.cert, &tls.key, &tls.client_ca}) {
    if (!file->empty()) *file = FromFile(*file, config.file);
  }
  Schema schema = AssembleSchema(std::move(reading.schema), std::move(reading.protocols));
  schema.generation = config.storage.bigtable.generation;
  config.schema = std::make_shared<const Schema>(std::move(schema));
  return config;
}

// Nobody can tell which queries a stream serves that has lost a table.
void LeaveOut(const std::vector<RuledMistake>& ruled, Reading* reading) {
  std::erase_if(reading->schema.tables, [&](const Placed<Table>& table) {
    const bool wrong = std::ranges::count(ruled, table.item.name, &RuledMistake::table) > 0;
    for (Placed<Stream>& stream : reading->schema.streams) {
      if (wrong && stream.item.name == table.item.stream) stream.item.queries.clear();
    }
    return wrong;
  });
}

Error Unreadable(const std::string& file, const std::string& why) {
  return Error(ErrorCode::kNotFound, file + ": cannot be read: " + why);
}

Result<std::string> ReadFile(const std::string& file) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (!std::filesystem::exists(status)) return Unreadable(file, "there is no such file");
  if (std::filesystem::is_directory(status)) return Unreadable(file, "it is a directory");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Unreadable(file, std::strerror(errno));
  std::string text;
  std::array<char, 16u << 10> piece;
  while (stream && text.size() <= kMaxFileBytes) {
    stream.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<size_t>(stream.gcount()));
  }
  if (stream.bad()) return Unreadable(file, std::strerror(errno));
  if (text.size() > kMaxFileBytes) return Unreadable(file, "it is larger than 16MiB");
  return text;
}

}  // namespace

std::string FromFile(const std::string& path, const std::string& file) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(file, ignored).parent_path();
  return (folder / path).lexically_normal().string();
}

Result<Config> LoadConfig(const std::string& file) {
  const Result<std::string> text = ReadFile(file);
  if (!text) return text.error();
  return ParseConfig(*text, file);
}

Result<Config> ParseConfig(const std::string& text, const std::string& file) {
  Reading reading = ReadText(text, file);
  if (!reading.mistakes.empty()) return reading.mistakes.ToError(file);
  return Finish(std::move(reading));
}

Result<LenientConfig> LoadConfigLeniently(const std::string& file) {
  const Result<std::string> text = ReadFile(file);
  if (!text) return text.error();
  return ParseConfigLeniently(*text, file);
}

Result<LenientConfig> ParseConfigLeniently(const std::string& text, const std::string& file) {
  Reading reading = ReadText(text, file);
  if (reading.mistakes.AnyWithoutRule()) return reading.mistakes.ToError(file);
  LenientConfig lenient;
  lenient.ruled = reading.mistakes.Ruled();
  LeaveOut(lenient.ruled, &reading);
  lenient.config = Finish(std::move(reading));
  return lenient;
}

}  // namespace tallyd

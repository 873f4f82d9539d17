#include "config/file/config.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "config/file/load.h"

namespace tallyd {
namespace {

constexpr uintmax_t kMaxFileBytes = 16u << 20;

// Streams stand where their section does, or else where the first table that names them stands.
Schema AssembleSchema(std::vector<Placed<Stream>> streams, std::vector<Placed<Table>> tables) {
  for (const Placed<Table>& table : tables) {
    const std::string& name = table.item.stream;
    const bool exists =
        std::any_of(streams.begin(), streams.end(),
                    [&name](const Placed<Stream>& stream) { return stream.item.name == name; });
    if (exists) continue;
    Placed<Stream> added;
    added.item.name = name;
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
  return schema;
}

// A path in the file is meant from where the file is, wherever the daemon was started.
std::string FromFile(const std::string& path, const std::string& file) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(file, ignored).parent_path();
  return (folder / path).lexically_normal().string();
}

Result<Config> ReadRoot(const toml::table& parsed, const std::string& file) {
  Mistakes mistakes;
  Config config;
  config.file = file;
  TomlReader root(parsed, "", 1, &mistakes);
  for (TomlReader& section : root.Table("server")) ReadServer(section, &config.server);
  for (TomlReader& section : root.Table("storage")) ReadStorage(section, &config.storage);
  for (TomlReader& section : root.Table("log")) ReadLog(section, &config.log);
  std::vector<Placed<Stream>> streams;
  std::vector<Placed<Table>> tables;
  for (TomlReader& section : root.Table("streams")) streams = ReadStreams(section);
  for (TomlReader& section : root.Table("tables")) tables = ReadTables(section, streams);
  root.NotBuilt("auth", "access by token");
  root.Finish();
  if (!mistakes.empty()) return mistakes.ToError(file);
  config.storage.path = FromFile(config.storage.path, file);
  config.schema =
      std::make_shared<const Schema>(AssembleSchema(std::move(streams), std::move(tables)));
  return config;
}

Error Unreadable(const std::string& file, const std::string& why) {
  return Error(ErrorCode::kNotFound, file + ": cannot be read: " + why);
}

}  // namespace

Result<Config> LoadConfig(const std::string& file) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (!std::filesystem::exists(status)) return Unreadable(file, "there is no such file");
  if (std::filesystem::is_directory(status)) return Unreadable(file, "it is a directory");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Unreadable(file, std::strerror(errno));
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (stream.bad()) return Unreadable(file, std::strerror(errno));
  if (text.size() > kMaxFileBytes) return Unreadable(file, "it is larger than 16MiB");
  return ParseConfig(text, file);
}

// toml++ throws, and only here: its shared library is built that way.
Result<Config> ParseConfig(const std::string& text, const std::string& file) {
  try {
    const toml::table parsed = toml::parse(text);
    return ReadRoot(parsed, file);
  } catch (const toml::parse_error& error) {
    Mistakes mistakes;
    mistakes.Add(error.source().begin.line, "TOML",
                 std::string(error.description()) + "; accepted: TOML 1.0");
    return mistakes.ToError(file);
  }
}

}  // namespace tallyd

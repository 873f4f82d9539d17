// [storage.bigtable], and what of a schema that engine cannot hold.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "config/file/load.h"
#include "config/file/read_keys.h"

namespace tallyd {
namespace {

constexpr const char* kEmulatorVariable = "BIGTABLE_EMULATOR_HOST";
// Of the table that the engine keeps for itself, behind the prefix.
constexpr size_t kMaxPrefixBytes = 32;

bool IsHostAndPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  const std::string_view port = text.substr(colon + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_no_host = [](char c) { return c <= ' ' || c == '/' || c == '"' || c == 0x7f; };
  return !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit) &&
         std::ranges::none_of(text.substr(0, colon), is_no_host);
}

void CheckAddress(const TomlReader& bigtable, std::string_view key, const std::string& address) {
  if (IsHostAndPort(address)) return;
  bigtable.Mistake(key, "is no address; accepted: HOST:PORT, as \"127.0.0.1:8086\"");
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == ':';
}

void CheckName(const TomlReader& bigtable, std::string_view key, const std::string& name) {
  if (!bigtable.Has(key)) {
    bigtable.Mistake(key, "is missing; accepted: a name, as Google Cloud has it");
  } else if (bigtable.IsString(key) && (name.empty() || !std::ranges::all_of(name, IsNameByte))) {
    bigtable.Mistake(key, "is no name; accepted: letters, digits, and any of -_.:");
  }
}

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

void CheckEmulator(const TomlReader& bigtable, BigtableConfig* filled) {
  CheckAddress(bigtable, "emulator", filled->emulator);
  for (const std::string_view key : {"endpoint", "credentials"}) {
    if (!bigtable.Has(key)) continue;
    bigtable.Mistake("emulator", fmt::format("stands beside {}: an emulator has no TLS and no "
                                             "credentials; accepted: one of both",
                                             key));
  }
}

void CheckEndpoint(const TomlReader& bigtable, BigtableConfig* filled) {
  CheckAddress(bigtable, "endpoint", filled->endpoint);
}

void CheckPrefix(const TomlReader& bigtable, BigtableConfig* filled) {
  const std::string& prefix = filled->prefix;
  const bool begins = prefix.empty() || (prefix[0] != '-' && prefix[0] != '.');
  if (begins && prefix.size() <= kMaxPrefixBytes &&
      std::ranges::all_of(prefix, [](char c) { return IsNameByte(c) && c != ':'; })) {
    return;
  }
  bigtable.Mistake("prefix", fmt::format("is no beginning of a table's name; accepted: up to {} "
                                         "letters, digits, and any of -_. behind the first",
                                         kMaxPrefixBytes));
}

void ReadBigtable(TomlReader bigtable, const std::string& file, BigtableConfig* config) {
  ReadKeys(&bigtable, config);
  if (bigtable.IsString("credentials")) {
    config->credentials = FromFile(config->credentials, file);
    if (!IsFile(config->credentials)) {
      bigtable.Mistake("credentials", fmt::format("there is no file {}; accepted: a service "
                                                  "account's key, relative to this file",
                                                  config->credentials));
    }
  }
  CheckName(bigtable, "project", config->project);
  CheckName(bigtable, "instance", config->instance);
  if (bigtable.IsString("app_profile") && config->app_profile.empty()) {
    bigtable.Mistake("app_profile", "is empty; accepted: the name of an app profile");
  }
  if (config->attempt_us > config->deadline_us) {
    bigtable.Mistake(bigtable.Has("attempt") ? "attempt" : "deadline",
                     "one attempt may take longer than the deadline of all; accepted: an attempt "
                     "of at most the deadline");
  }
  bigtable.Finish();
}

void CheckBigtable(const TomlReader& storage, StorageConfig* config) {
  if (config->engine != "bigtable") {
    if (storage.Has("bigtable")) {
      storage.Mistake("bigtable", "is of another engine; accepted: with engine = \"bigtable\"");
    }
    return;
  }
#ifndef TALLYD_HAS_BIGTABLE
  storage.Mistake("engine",
                  "\"bigtable\" is not in this build, which was made with TALLYD_BIGTABLE=OFF; "
                  "accepted: leveldb");
#endif
  if (!storage.Has("bigtable")) {
    storage.Mistake("engine",
                    "has no section of its own; accepted: with a section [storage.bigtable] that "
                    "has project and instance");
  }
  BigtableConfig& bigtable = config->bigtable;
  const char* const emulator = std::getenv(kEmulatorVariable);
  if (emulator == nullptr || *emulator == 0 || !bigtable.emulator.empty()) return;
  bigtable.emulator = emulator;
  if (!IsHostAndPort(bigtable.emulator)) {
    storage.Mistake("bigtable", fmt::format("the environment's {} is no address; accepted: "
                                            "HOST:PORT",
                                            kEmulatorVariable));
  }
  if (!bigtable.endpoint.empty() || !bigtable.credentials.empty()) {
    storage.Mistake("bigtable",
                    fmt::format("has endpoint or credentials, and the environment says {}, an "
                                "emulator that has neither; accepted: one of both",
                                kEmulatorVariable));
  }
}

void CheckHeldByBigtable(const BigtableConfig& config, const std::vector<Placed<Stream>>& streams,
                         const std::vector<Placed<Table>>& tables, Mistakes* mistakes) {
  constexpr std::string_view kEngine = "the engine \"bigtable\"";
  const auto of_table = [&](const Placed<Table>& table, std::string_view key,
                            std::string_view what) {
    mistakes->Add(table.line, fmt::format("tables.{}.{}", table.item.name, key),
                  fmt::format("{} {}", kEngine, what));
  };
  for (const Placed<Stream>& stream : streams) {
    if (stream.item.time_required) continue;
    mistakes->Add(stream.line, fmt::format("streams.{}.time_required", stream.item.name),
                  fmt::format("{} cannot give arrivals of several daemons times of their own; "
                              "accepted: true",
                              kEngine));
  }
  for (const Placed<Table>& table : tables) {
    const Table& item = table.item;
    const bool has_section = std::ranges::any_of(
        streams, [&](const auto& stream) { return stream.item.name == item.stream; });
    if (!has_section) {
      mistakes->Add(table.line, fmt::format("streams.{}.time_required", item.stream),
                    fmt::format("{} cannot give arrivals of several daemons times of their own; "
                                "accepted: true, in a section of the stream",
                                kEngine));
    }
    if (config.prefix.size() + item.name.size() > kMaxTableNameBytes) {
      mistakes->Add(table.line, fmt::format("tables.{}", item.name),
                    fmt::format("its name is longer than {} bytes with the prefix \"{}\"; "
                                "accepted: shorter ones",
                                kMaxTableNameBytes, config.prefix));
    }
    if (item.flush_us) of_table(table, "flush", "adds up by itself; take the key out");
    if (item.max_bytes) of_table(table, "max_bytes", "forgets by age alone; take the key out");
    if (item.daily && config.prefix.size() + item.daily->NameOf(0).size() > kMaxTableNameBytes) {
      of_table(table, "daily",
               fmt::format("has no tables of longer names than {} bytes, the prefix \"{}\" "
                           "included; accepted: a shorter one",
                           kMaxTableNameBytes, config.prefix));
    }
    for (const Family& family : item.families) {
      if (family.aggregate != Aggregate::kHll) continue;
      of_table(table, fmt::format("families.{}.aggregate", family.name),
               "has sketches that tallyd's are not; accepted: sum, min, max");
    }
  }
}

}  // namespace tallyd

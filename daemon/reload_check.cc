#include "daemon/reload_check.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "config/file/keys.h"

namespace tallyd {

namespace {

// Appends the keys that differ and that a reload does not apply.
template <class S>
void AppendChanged(std::string_view section, const S& in_force, const S& loaded,
                   std::string* changed) {
  for (const ConfigKey<S>& key : ConfigKeys<S>()) {
    if (key.applied == Applied::kByReload || HasSameValue(key, in_force, loaded)) continue;
    if (!changed->empty()) *changed += ", ";
    changed->append(section).append(".").append(key.name);
  }
}

}  // namespace

Status CheckReload(const Config& in_force, const Config& loaded) {
  std::string changed;
  AppendChanged("server", in_force.server, loaded.server, &changed);
  AppendChanged("storage", in_force.storage, loaded.storage, &changed);
  AppendChanged("storage.bigtable", in_force.storage.bigtable, loaded.storage.bigtable, &changed);
  AppendChanged("log", in_force.log, loaded.log, &changed);
  // A section that comes or goes is compared with one that says nothing.
  const OpenTsdbConfig silent;
  AppendChanged("protocols.opentsdb", in_force.schema->protocols.opentsdb.value_or(silent),
                loaded.schema->protocols.opentsdb.value_or(silent), &changed);
  if (!changed.empty()) {
    return Error(
        ErrorCode::kConflict,
        fmt::format("{}: needs a restart; a reload applies streams, tables, ingest, log, tls, "
                    "tokens, protocols and server.cors",
                    changed));
  }
  if (loaded.schema->tables.empty()) {
    return Error(ErrorCode::kConflict,
                 fmt::format("{} makes no table: it may have been cut short", loaded.file));
  }
  // Who means to run without tokens can say so by a restart, at which somebody looks; what would
  // open a daemon that runs is too easily a file that is half written.
  if (!in_force.tokens.empty() && loaded.tokens.empty()) {
    return Error(ErrorCode::kConflict,
                 fmt::format("{} has no [[auth.tokens]] any more, and would leave the daemon open "
                             "to whoever reaches it: keep one, or restart to run without any",
                             loaded.file));
  }
  return {};
}

}  // namespace tallyd

#include "storage/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "storage/leveldb_store.h"
#ifdef TALLYD_HAS_BIGTABLE
#include "storage/bigtable_store.h"
#endif

namespace tallyd {
namespace {

Result<std::unique_ptr<Store>> OpenLevelDb(const EngineParts& parts) {
  LevelDbStoreOptions options;
  options.storage = parts.storage;
  options.clock = parts.clock;
  options.registry = parts.registry;
  options.progress = parts.progress;
  options.fields_of = parts.fields_of;
  options.may_drop = parts.may_drop;
  return OpenLevelDbStore(options);
}

#ifdef TALLYD_HAS_BIGTABLE
Result<std::unique_ptr<Store>> OpenBigtable(const EngineParts& parts) {
  BigtableStoreOptions options;
  options.bigtable = parts.storage.bigtable;
  options.clock = parts.clock;
  options.may_drop = parts.may_drop;
  return OpenBigtableStore(options);
}
#else
Result<std::unique_ptr<Store>> OpenBigtable(const EngineParts&) {
  return Invalid("storage.engine: \"bigtable\" is not in this build; accepted: leveldb");
}
#endif

using OpenEngine = Result<std::unique_ptr<Store>> (*)(const EngineParts&);

// In the order of the names.
constexpr std::array<OpenEngine, std::size(kEngines)> kOpeners = {OpenLevelDb,
                                                                 OpenBigtable};

}  // namespace

Result<std::unique_ptr<Store>> OpenStore(const EngineParts& parts) {
  const auto* const name = std::ranges::find(kEngines, parts.storage.engine);
  if (name == std::end(kEngines)) {
    return Invalid(fmt::format("storage.engine: \"{}\" is unknown; accepted: {}",
                               parts.storage.engine, fmt::join(kEngines, ", ")));
  }
  return kOpeners[static_cast<size_t>(name - std::begin(kEngines))](parts);
}

}  // namespace tallyd

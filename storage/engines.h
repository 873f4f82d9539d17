// Engines: which store a file's `storage.engine` is. An engine is a name (kEngines), a row in
// engines.cc, and what it reads of the file: LevelDB the keys of [storage], another one a section
// of its own.
#ifndef TALLYD_STORAGE_ENGINES_H_
#define TALLYD_STORAGE_ENGINES_H_

#include <memory>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/event_teller.h"
#include "storage/store.h"

namespace prometheus {
class Registry;
}

namespace tallyd {

class CommitProgress;

// What any engine is given; each takes what it has use for. What is pointed to outlives the store.
struct EngineParts {
  StorageConfig storage;
  const Clock* clock = nullptr;
  prometheus::Registry* registry = nullptr;
  CommitProgress* progress = nullptr;  // Told how it commits. Null: nobody is.
  FieldsOfCell fields_of = nullptr;    // How serialized cells are read.
  MayDropTable may_drop;
};

// As the engine's own errors say; kInvalid, naming those there are, for an engine that is unknown.
Result<std::unique_ptr<Store>> OpenStore(const EngineParts& parts);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_ENGINES_H_

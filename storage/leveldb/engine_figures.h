// What the LevelDB engine tells of itself: gauges of /metrics and members of "store" in /v1/status
// (docs/operations.md lists them). Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_ENGINE_FIGURES_H_
#define TALLYD_STORAGE_LEVELDB_ENGINE_FIGURES_H_

#include "storage/leveldb/commit/engine.h"

namespace tallyd {

// Adds them, and the unsealed bytes.
void TellOfEngine(Engine* engine, StoreState* state);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENGINE_FIGURES_H_

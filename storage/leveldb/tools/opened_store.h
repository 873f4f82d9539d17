// OpenedStore: a store opened to be looked at: its files, and what it holds in memory of them, by
// the same rules as when the daemon opens it, without the threads that change it. With an
// OverlayEnv nothing on the disk changes. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_OPENED_STORE_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_OPENED_STORE_H_

#include <memory>
#include <utility>

#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/files/database.h"
#include "storage/row_scan.h"

namespace tallyd {

class OpenedStore {
 public:
  // `env` outlives it.
  static Result<std::unique_ptr<OpenedStore>> Open(const StorageConfig& config, StoreEnv* env);
  ~OpenedStore() { database_.Close(); }
  OpenedStore(const OpenedStore&) = delete;
  OpenedStore& operator=(const OpenedStore&) = delete;

  // Sees what is stored as the schema does, in memory only. kConflict if it contradicts.
  Status Adopt(const Schema& schema);

  Database& database() { return database_; }
  const EngineState& state() const { return state_; }
  // Null where there is no such table.
  TablePtr FindTable(std::string_view name) const { return state_.catalogue.Find(name); }
  // As Store::Scan.
  Result<std::unique_ptr<RowScan>> Scan(const TablePtr& table, const ScanSpec& spec);

 private:
  OpenedStore(const StorageConfig& config, StoreEnv* env) : database_(config, env) {}

  Database database_;
  EngineState state_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_OPENED_STORE_H_

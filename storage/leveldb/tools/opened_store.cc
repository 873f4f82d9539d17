#include "storage/leveldb/tools/opened_store.h"

#include "storage/leveldb/read/history_scan.h"
#include "storage/leveldb/read/latest_scan.h"

namespace tallyd {

Result<std::unique_ptr<OpenedStore>> OpenedStore::Open(const StorageConfig& config, StoreEnv* env) {
  std::unique_ptr<OpenedStore> store(new OpenedStore(config, env));
  const Status opened = store->database_.Open(config.write_buffer);
  if (!opened) return opened.error();
  const Result<LoadedView> loaded = LoadEngineState(&store->database_, &store->state_);
  if (!loaded) return loaded.error();
  store->database_.AdmitReaders(loaded->files, loaded->deletes);
  return store;
}

Status OpenedStore::Adopt(const Schema& schema) {
  Result<Catalogue::Plan> plan = state_.catalogue.PlanAdopt(schema);
  if (!plan) return plan.error();
  state_.catalogue.Publish(std::move(*plan));
  return {};
}

Result<std::unique_ptr<RowScan>> OpenedStore::Scan(const TablePtr& table, const ScanSpec& spec) {
  if (table->mode != TableMode::kHistory) {
    return std::make_unique<LatestScan>(table, spec, state_.sets, state_.latest);
  }
  Result<std::unique_ptr<Lease>> lease = database_.NewLease();
  if (!lease) return lease.error();
  DeleteList deletes;
  {
    const Access access(lease->get());
    if (access) deletes = access.view().DeletesOf(table->id);
  }
  return std::make_unique<HistoryScan>(table, spec, state_.sets, std::move(*lease), deletes);
}

}  // namespace tallyd

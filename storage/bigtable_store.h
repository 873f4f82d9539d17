// The engine on Cloud Bigtable: rows are on the service, and what daemons share beside them is in a
// table of its own there (catalogue/catalogue_rows.h), so that any number of daemons may have the
// same file. Nothing is kept on this machine. What it has not is docs/storage.md's to tell.
//
// Writes: Submit queues; a few threads make bulk calls of what waits (write/batch_writer.h). Reads:
// one stream of Bigtable's for each scan (read/bigtable_scan.h).
#ifndef TALLYD_STORAGE_BIGTABLE_STORE_H_
#define TALLYD_STORAGE_BIGTABLE_STORE_H_

#include <cstdint>
#include <memory>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/store.h"

namespace tallyd {

struct BigtableStoreOptions {
  BigtableConfig bigtable;
  const Clock* clock = nullptr;  // Required; outlives the store.
  // Called while a schema is adopted. Empty: yes.
  MayDropTable may_drop;
  // Of cell times: milliseconds, as Bigtable has them. Tests have tables with 1.
  int64_t grain_us = kUsPerMs;
};

// Connect asks the service, and makes the catalogue's table where there is none; it is called
// before anything else but State, Trouble and Close. kInvalid, naming the key: credentials that
// cannot be used.
Result<std::unique_ptr<Store>> OpenBigtableStore(const BigtableStoreOptions& options);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_STORE_H_

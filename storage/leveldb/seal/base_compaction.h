// Compacts base to what it has to keep. A LevelDB table file keeps every version of a record that
// its memory table had, until it is compacted with another one that overlaps it, and compacting a
// range leaves the lowest files alone: the first and the last latest row of the range, written once
// more, make that other one. Range by range, so that a reopen, which waits for one of them, never
// waits for long. Of the sealer's thread, which alone writes latest rows to base.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_BASE_COMPACTION_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_BASE_COMPACTION_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "storage/leveldb/catalogue/catalogue.h"
#include "storage/leveldb/files/database.h"

namespace tallyd {

// Of base: keys and values; an empty value: the record goes.
using Records = std::vector<std::pair<std::string, std::string>>;

// Removes the latest rows of tables that the catalogue does not know: a crash leaves them between
// the two writes of a table's drop. Costs a seek for each table where there are none; otherwise as
// CompactBase.
Status RemoveStrayRows(Database* database, const Catalogue& catalogue,
                       const std::function<Status(const Records&)>& commit,
                       const std::function<bool()>& stopping);

// `commit` writes records to base, durably. `stopping` is asked between ranges; then, as after a
// reopen, the error is kCancelled or kUnavailable, and the rest is as it was.
Status CompactBase(Database* database, const std::function<Status(const Records&)>& commit,
                   const std::function<bool()>& stopping);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_BASE_COMPACTION_H_

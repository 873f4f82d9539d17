// What a delete takes away, row by row, as Bigtable has no delete of a range: the rows are read,
// and each is deleted, or what of it is named. A prefix of very many rows goes by DropRowRange,
// which Bigtable takes once at a time for a table: whose turn it is the daemons claim of each
// other. Who has none within the client's deadline gets kUnavailable.
//
// A row that is written while its range is being deleted may go with it; what is written behind the
// answer stays.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_REMOVAL_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_REMOVAL_H_

#include "config/values/result.h"
#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/catalogue/claim_rows.h"

namespace tallyd {

// So many rows are deleted one by one, at most, where there is another way.
inline constexpr uint64_t kRowsDeletedSingly = 10'000;

// Blocks, as long as it takes: each step has the client's deadline.
Status Remove(BigtableClient* client, ClaimRows* claims, const BigtableBatch::Removal& removal,
              int64_t grain_us);

// Every row of the table whose full name this is that begins so; all, where the prefix is empty.
Status DropRows(BigtableClient* client, const std::string& table, const std::string& prefix);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_REMOVAL_H_

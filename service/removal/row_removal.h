// Removals that name a table: of rows, of cells, of a whole orphaned table. Durable on return.
#ifndef TALLYD_SERVICE_REMOVAL_ROW_REMOVAL_H_
#define TALLYD_SERVICE_REMOVAL_ROW_REMOVAL_H_

#include "config/values/result.h"
#include "service/access/row_clamp.h"
#include "service/removal/removal_count.h"
#include "service/removal/removal_parts.h"
#include "storage/store.h"

namespace tallyd {

// What was forgotten. `clamp`: its rows alone go, and kForbidden where it can have none there;
// null: every row. kConflict: the table is being filled from another one. Nightly tables of the
// table lose the same. Blocks on the disk.
Result<RemovalCount> RemoveRows(const RemovalParts& parts, const TablePtr& table,
                                const DeleteSpec& what, const RowClamp* clamp);

// kConflict: another table is to be filled from it.
Status RemoveTable(const RemovalParts& parts, const TablePtr& table);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_ROW_REMOVAL_H_

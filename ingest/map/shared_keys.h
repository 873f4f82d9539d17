// What the keys of an event's rows share. Tables of one stream are mostly keyed by the same entity,
// so the next row's key begins as the one before it does, and is not made anew
// (RowRenderer::WriteKey).
#ifndef TALLYD_INGEST_MAP_SHARED_KEYS_H_
#define TALLYD_INGEST_MAP_SHARED_KEYS_H_

#include "ingest/map/table_mapping.h"

namespace tallyd {

// Numbers the rows of a shape's tables, and finds what each one's key shares with that of the row
// before it. Nothing of the rows changes after this.
void NumberRows(TableMappings* tables);

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_SHARED_KEYS_H_

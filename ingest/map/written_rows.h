// WrittenRows: what a batch writes, for whoever counts it once it is committed (service/write).
// A plain value.
#ifndef TALLYD_INGEST_MAP_WRITTEN_ROWS_H_
#define TALLYD_INGEST_MAP_WRITTEN_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "ingest/map/row_bytes.h"
#include "ingest/map/row_stems.h"

namespace tallyd {

struct WrittenRows {
  uint64_t rows = 0;        // Distinct rows of tables.
  uint64_t cells = 0;       // The cells in them.
  RowStems stems;           // Of each row that each event writes.
  RowBytes row_bytes;       // Of rows that may become large.
  size_t large_values = 0;  // Larger than is recommended, of those that were taken.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_WRITTEN_ROWS_H_

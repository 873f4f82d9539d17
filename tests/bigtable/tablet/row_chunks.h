// Rows as ReadRows sends them: in chunks, of which each ends a cell but where a value is cut.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_ROW_CHUNKS_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_ROW_CHUNKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tests/bigtable/tablet/cell_filter.h"
#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {

using Chunks = std::vector<v2::ReadRowsResponse::CellChunk>;

// The last one commits the row. REQUIRES: there are cells. Values longer than `value_bytes` are
// cut, unless that is 0.
Chunks ChunksOf(const std::string& row_key, const FilteredCells& cells, size_t value_bytes);

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_ROW_CHUNKS_H_

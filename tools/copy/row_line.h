// A row as a daemon answers it in NDJSON (`raw=1`), as the mutations that write it elsewhere, and
// as what tells its cells from others. Values stay in their spelling: sums have up to 128 bits.
#ifndef TALLYD_TOOLS_COPY_ROW_LINE_H_
#define TALLYD_TOOLS_COPY_ROW_LINE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

struct RowLine {
  struct Cell {
    std::string mutation;  // {"set": {...}}, or {"merge": {...}} where the family adds up.
    TimeUs time = 0;
    uint64_t digest = 0;  // Of all that it is, its row's key included.
  };
  std::string key;  // The bytes.
  std::vector<Cell> cells;
};

// `adding` are the families whose cells are states.
Result<RowLine> ReadRowLine(std::string_view line, const std::set<std::string>& adding);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_ROW_LINE_H_

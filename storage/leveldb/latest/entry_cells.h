// EntryCells: an entry as a list of cells, for latest tables, which change stored entries. Scans do
// not use it: they decode in place (row_assembler.h).
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_ENTRY_CELLS_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_ENTRY_CELLS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/value.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/table_info.h"

namespace tallyd {

// Null values are absent cells. Views are into the entry and the set.
struct EntryCells {
  const ColumnSet* set = nullptr;  // Null: by name.
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
};

bool DecodeEntry(const ColumnRegistry& sets, TableId table, std::string_view entry,
                 EntryCells* cells);

// Takes out the cells that `drop` names; it is asked for each cell once, in order. False: nothing
// changed. True: *out is the entry that is left, empty if no cell is. REQUIRES: DecodeEntry
// succeeded.
bool FilterEntry(EntryCells* cells, const std::function<bool(const ColumnRef&)>& drop,
                 std::string* out);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_ENTRY_CELLS_H_

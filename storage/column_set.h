// ColumnSet: a recurring list of columns, learned once. An entry that uses one stores a number
// instead of names, and whoever writes or reads it compares a pointer instead of looking up
// strings.
//
// Sets are interned per table by the Store (Store::InternColumns) and live as long as it does; two
// sets are equal iff their pointers are. Columns are in read order: families by name, qualifiers by
// bytes; no column twice.
#ifndef TALLYD_STORAGE_COLUMN_SET_H_
#define TALLYD_STORAGE_COLUMN_SET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/table_info.h"

namespace tallyd {

// A column by view: what callers pass and rows return.
struct ColumnRef {
  FamilyId family = 0;
  std::string_view qualifier;
  friend bool operator==(const ColumnRef&, const ColumnRef&) = default;
};

struct Column {
  FamilyId family = 0;
  std::string qualifier;
  ColumnRef ref() const { return {family, qualifier}; }
  friend bool operator==(const Column&, const Column&) = default;
};

struct ColumnSet {
  TableId table = 0;
  uint32_t id = 0;  // Unique in its table.
  std::vector<Column> columns;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_COLUMN_SET_H_

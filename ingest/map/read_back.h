// Whether a column that an event is about to write gives back what the event said, by the rules of
// those who read it (ingest/unmap/rule_inverse.h): asked of rules for which only the event's values
// tell (config/columns/name_doubts.h). Where it does not, its table does not hold the event whole.
#ifndef TALLYD_INGEST_MAP_READ_BACK_H_
#define TALLYD_INGEST_MAP_READ_BACK_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/map/table_mapping.h"

namespace tallyd {

// Of an event, or of all of a shape: then there are no values, and only the name is looked at.
struct WrittenCell {
  const CellMapping& cell;
  const std::vector<std::string>& fields;  // Of the event's shape.
  std::span<const Value> values;           // In the order of the fields.
  std::string_view qualifier;
  const Value* value = nullptr;  // Of the cell.
};

bool ReadsBack(const Table& table, const TableInfo& info, const WrittenCell& written);

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_READ_BACK_H_

// Which fields of a shape a table's rules take and of which it keeps nothing (MissedField in
// storage/store.h): so that the planner knows what an answer of the table lacks.
#ifndef TALLYD_INGEST_MAP_MISSED_FIELDS_H_
#define TALLYD_INGEST_MAP_MISSED_FIELDS_H_

#include <cstdint>
#include <vector>

#include "ingest/decode/shape.h"
#include "ingest/map/table_mapping.h"
#include "storage/table_info.h"

namespace tallyd {

// A field of a shape that a table's rules take and of which it keeps nothing here.
struct MissedByTable {
  TablePtr table;
  uint32_t field = 0;
  uint8_t how = 0;  // MissedField::how
};

// `labels`: the places of the events' labels, which a table with {labels} takes, too.
void AddMissed(const TableMapping& mapping, const Shape& shape, const LabelPlaces& labels,
               std::vector<MissedByTable>* missed);

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_MISSED_FIELDS_H_

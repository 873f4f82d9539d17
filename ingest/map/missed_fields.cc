#include "ingest/map/missed_fields.h"

#include <algorithm>
#include <string>

#include "config/schema/table_rules.h"
#include "storage/store.h"

namespace tallyd {

void AddMissed(const TableMapping& mapping, const Shape& shape, const LabelPlaces& labels,
               std::vector<MissedByTable>* missed) {
  if (!KeepsEvents(*mapping.table)) return;  // It never claims to hold everything.
  const bool outside = !mapping.stays_out.empty();
  const std::vector<bool> kept = KeptFields(mapping, shape.fields.size());
  for (uint32_t i = 0; i < shape.fields.size(); ++i) {
    const std::string& field = shape.fields[i];
    const bool takes = TableHolds(*mapping.table, field) ||
                       (std::ranges::binary_search(labels, i) &&
                        mapping.table->row_key.HoldsAsLabel(field));
    if (field == mapping.table->time_field || !takes) continue;
    if (!outside && kept[i]) continue;
    missed->push_back({mapping.info, i, outside ? kMissedOutside : kMissedInside});
  }
}

}  // namespace tallyd

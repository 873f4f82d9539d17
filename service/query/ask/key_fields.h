// What a table's row keys tell of an event, as far as it is known which fields are labels: of
// {labels} the template alone does not say what it holds.
#ifndef TALLYD_SERVICE_QUERY_ASK_KEY_FIELDS_H_
#define TALLYD_SERVICE_QUERY_ASK_KEY_FIELDS_H_

#include <string_view>

#include "config/schema/table_rules.h"
#include "service/query/ask/stream_fields.h"

namespace tallyd {

// Whether keys may give the field back: one was a label of some event.
inline bool KeyMayTell(const Table& table, const StreamFields& known, std::string_view field) {
  return KeyHolds(table, field) || (table.row_key.HoldsAsLabel(field) && known.WasLabel(field));
}

// Whether the key of each event that has the field gives it back: it never was anything but a
// label. An event without it has a key, too.
inline bool KeyAlwaysTells(const Table& table, const StreamFields& known, std::string_view field) {
  return KeyHolds(table, field) || (table.row_key.HoldsAsLabel(field) && known.IsLabelAlone(field));
}

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_KEY_FIELDS_H_

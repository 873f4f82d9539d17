// Which fields of an event a column rule takes, and under which names they are stored: what the
// mapper (fields to columns) and the row reader (columns to fields) have to agree on.
#ifndef TALLYD_INGEST_MEASURED_H_
#define TALLYD_INGEST_MEASURED_H_

#include <string>
#include <string_view>

#include "config/schema.h"

namespace tallyd {

// The names that stand for the measured field in a per-field rule.
inline constexpr std::string_view kFieldPlaceholder = "field";
inline constexpr std::string_view kValuePlaceholder = "value";

// Whether the row key of a table gives this field back: a salt does not, nor does the period of a
// time that is not the table's own.
bool KeyHolds(const Table& table, std::string_view field);

// Whether a per-field rule takes the field. By name it may take any; by glob or by default it takes
// those that neither the row key holds nor the time uses.
bool RuleTakes(const Table& table, const ColumnRule& rule, std::string_view field);

// The qualifier that `rename` gives the field; null if none.
const std::string* RenamedTo(const ColumnRule& rule, std::string_view field);

// What {field} stands for in the rule's name: the field's name, compact where asked for.
std::string NameInRule(const ColumnRule& rule, std::string_view field);

}  // namespace tallyd

#endif  // TALLYD_INGEST_MEASURED_H_

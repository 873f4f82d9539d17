// What a table's row key and column rules make of the fields of an event: which fields the key
// gives back, which a rule takes, under which name it stores them, which come back from the
// columns, and how truly. The mapper (fields to cells), the row reader (cells to fields), the
// planner and the loader all ask here, so that they cannot disagree.
//
// Pure functions of a loaded Table; none is for use per event: what depends on the fields of an
// event is compiled once per shape.
#ifndef TALLYD_CONFIG_SCHEMA_TABLE_RULES_H_
#define TALLYD_CONFIG_SCHEMA_TABLE_RULES_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

// How a field of an event comes back.
enum class Fidelity : uint8_t {
  kNone,   // It does not.
  kText,   // As the number that its text plainly spells, else as a string.
  kTyped,  // As it was sent.
};

// Whether what is written to its cells adds up.
inline bool IsAggregate(const Family& family) { return family.aggregate.has_value(); }

// Whether the placeholder stands for the measured field, its name or its value: {field} and {value}
// do in a rule that runs per field.
bool IsMeasuredField(const ColumnRule& rule, const Segment& segment);
bool IsMeasuredValue(const ColumnRule& rule, const Segment& segment);

// Whether the row key gives this field back: no salt does, nor does the period of a time; the
// table's own time comes back as the time of the cells.
bool KeyHolds(const Table& table, std::string_view field);

// The field of the first time in the row key, where none of its times is the table's own; else
// null.
const std::string* OtherTimeOfKey(const Table& table);

// Whether the row key tells whose value the cells of its row are.
bool KeyTellsMeasured(const Table& table);

// Whether a per-field rule takes the field. By name it may take any; by glob or by default it takes
// those that neither the row key gives back nor the time uses.
bool RuleTakes(const Table& table, const ColumnRule& rule, std::string_view field);
// Whether it takes it even where the event has it as a label that stands in {labels}, of which no
// rule takes any by glob or by default.
bool RuleTakesByName(const ColumnRule& rule, std::string_view field);
// Whether any per-field rule does.
bool AnyRuleTakes(const Table& table, std::string_view field);

// The only field that a per-field rule can take; null where others may come.
const std::string* OnlyField(const ColumnRule& rule);

// The fields without which the rule takes nothing: its templates name them. Those that every event
// has that enters the table are left out.
std::set<std::string, std::less<>> NeededBy(const Table& table, const ColumnRule& rule);

// The qualifier that `rename` gives the field; null if none.
const std::string* RenamedTo(const ColumnRule& rule, std::string_view field);

// What {field} stands for in the rule's name: the field's name, compact where asked for.
std::string NameInRule(const ColumnRule& rule, std::string_view field);

// Whether the table keeps the field under its compact name, so that another spelling of it is the
// same column.
bool IsCompacted(const Table& table, std::string_view field);

// The names of a stream's fields; of the spellings of one compact name the one seen last comes
// last.
using Spellings = std::vector<std::string>;

// The spelling seen last of the fields that the rule keeps under this compact name.
std::optional<std::string> LastSpelling(const Table& table, const ColumnRule& rule,
                                        std::string_view compact, const Spellings& spellings);

// The name under which the table gives back what is asked for as `name`, be it some spelling or the
// compact name.
std::string SpellingIn(const Table& table, std::string_view name, const Spellings& spellings);

// How the rule's columns give this field of an event back, and how the table does, by its key or by
// the truest of its rules.
Fidelity GivenBack(const Table& table, const ColumnRule& rule, std::string_view field);
Fidelity GivenBack(const Table& table, std::string_view field);
// Whether a field that the table gives back may come back as text from some events: the rules that
// keep it truly need other fields beside it.
bool MayComeAsText(const Table& table, std::string_view field);
inline bool TableHolds(const Table& table, std::string_view field) {
  return GivenBack(table, field) != Fidelity::kNone;
}

// Whether a template of a per-field rule names this field of the event itself: it then comes back
// with the rows of other measured fields.
bool ComesWithOthers(const Table& table, std::string_view field);

// The fields that the table's configuration names one by one: its time, `when`, templates, `fields`
// without globs, `rename`.
std::set<std::string, std::less<>> FieldsNamedBy(const Table& table);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_TABLE_RULES_H_

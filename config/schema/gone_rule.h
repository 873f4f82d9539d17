// A column rule that is taken out of a table, and what goes with it: the events that entered by it
// alone, and the fields that it alone kept of every event. What it took from there on nobody notes
// as missed, so the rules that stay are not whole for it unless one of them takes it, too.
//
// A rule needs the fields that its templates name: it finds nothing in an event without one. Those
// of the row key and the time every event has that enters.
//
// Pure functions. All err towards what goes.
#ifndef TALLYD_CONFIG_SCHEMA_GONE_RULE_H_
#define TALLYD_CONFIG_SCHEMA_GONE_RULE_H_

#include <optional>
#include <string_view>

#include "config/schema/schema.h"

namespace tallyd {

// The rule that has this canonical text (config/schema/schema.h); nothing if none has.
std::optional<ColumnRule> FromCanonicalText(std::string_view text, std::string_view time_field);

// Whether each event that `gone` takes something of enters by a rule of the table's.
bool EntersWithout(const ColumnRule& gone, const Table& table);

// Whether the table keeps what `kept`, one of its rules, may take as though `gone` were there.
bool KeepsWithout(const ColumnRule& gone, const ColumnRule& kept, const Table& table);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_GONE_RULE_H_

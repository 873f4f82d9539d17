// Where a table may have cells of a field that came by itself, as by a mistake: which columns its
// rules make of it. What the configuration names one by one is meant to be there, whether anything
// stored has it or not.
#ifndef TALLYD_CONFIG_SCHEMA_FIELD_COLUMNS_H_
#define TALLYD_CONFIG_SCHEMA_FIELD_COLUMNS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

struct FieldColumns {
  bool is_named = false;  // The key, the time, `when` or a rule names it.
  bool anywhere = false;  // Other values of the event decide about its columns, or its rows.
  std::vector<std::pair<std::string, std::string>> columns;  // Family and qualifier.
};

// By the table's rules alone: give it those that it had, too.
FieldColumns ColumnsOfField(const Table& table, std::string_view field);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_FIELD_COLUMNS_H_

// NameDoubts: which column rules of a table may make a column that is read back as what no event
// said, or that another event has, too. No check of the file can refuse them, as it depends on the
// values and the names of fields that come:
//
// - a name or value of several placeholders of varying width: where a value holds the text between
//   them, where it ends is not known;
// - two rules of a family whose names come from values, or from fields that the file does not name:
//   two events may make one name.
//
// Who writes such a column reads it back (ingest/map/read_back.h); lint tells of the rules. Pure
// functions of a loaded table, for any thread.
#ifndef TALLYD_CONFIG_COLUMNS_NAME_DOUBTS_H_
#define TALLYD_CONFIG_COLUMNS_NAME_DOUBTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

// Whether the names of the rule's columns are in the file, and no others.
bool NamesAreInFile(const ColumnRule& rule);

struct NameDoubt {
  size_t rule = 0;   // Its place in Table::columns.
  size_t other = 0;  // The same: the rule alone.
  std::string why;   // For people: behind the name of the table.
};
std::vector<NameDoubt> NameDoubtsOf(const Table& table);

// Whether a rule that keeps fields under their compact names, and another that keeps them as they
// are, may both have a column of that name, which the rule at that place made.
bool MayMeetByCompactName(const Table& table, size_t rule, std::string_view qualifier);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_COLUMNS_NAME_DOUBTS_H_

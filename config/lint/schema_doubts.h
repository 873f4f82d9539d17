// What the loader must allow and yet can hardly be meant: a field that no event will have, by its
// name, so that every event is refused, or a rule that finds nothing. `tallyd check` tells each and
// fails; the daemon starts, and warns of them.
#ifndef TALLYD_CONFIG_LINT_SCHEMA_DOUBTS_H_
#define TALLYD_CONFIG_LINT_SCHEMA_DOUBTS_H_

#include <string>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

// Each is a sentence that begins with the key in question, "tables.HOT.row_key: ...".
std::vector<std::string> FindDoubts(const Schema& schema);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_SCHEMA_DOUBTS_H_

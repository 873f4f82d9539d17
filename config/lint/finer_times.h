// What of a schema may bring times that an engine of whole milliseconds cannot keep. Pure.
#ifndef TALLYD_CONFIG_LINT_FINER_TIMES_H_
#define TALLYD_CONFIG_LINT_FINER_TIMES_H_

#include <string>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

// "streams.s.unit: ...", a line each, for people; what they tell keeps nothing from starting.
std::vector<std::string> FindFinerTimes(const Schema& schema);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_FINER_TIMES_H_

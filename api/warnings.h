// What a write was warned of, in its answer.
#ifndef TALLYD_API_WARNINGS_H_
#define TALLYD_API_WARNINGS_H_

#include <string>
#include <vector>

#include "ingest/text/json.h"

namespace tallyd {

// Adds the member `warnings`, where there are any.
void AddWarnings(const std::vector<std::string>& warnings, Json* answer);

}  // namespace tallyd

#endif  // TALLYD_API_WARNINGS_H_

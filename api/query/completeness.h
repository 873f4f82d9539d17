// Whether a table keeps every event that a query asks about.
#ifndef TALLYD_API_QUERY_COMPLETENESS_H_
#define TALLYD_API_QUERY_COMPLETENESS_H_

#include <string>
#include <vector>

#include "api/query/event_query.h"

namespace tallyd {

// Empty when it does; else a sentence that says what may be missing. `asked` are the names that the
// query's fields stand for; filters count, too.
std::string WhatIsMissing(const EventQuery& query, const Table& table,
                          const std::vector<std::string>& asked);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_COMPLETENESS_H_

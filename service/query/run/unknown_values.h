// Why a question found nothing, where it asked for what the stream never had: a misspelled value of
// a key field, or one that was meant as a pattern or a list. Little is read, whatever is stored.
#ifndef TALLYD_SERVICE_QUERY_RUN_UNKNOWN_VALUES_H_
#define TALLYD_SERVICE_QUERY_RUN_UNKNOWN_VALUES_H_

#include <string>

#include "service/limits/query_memory.h"
#include "service/query/ask/event_query.h"
#include "storage/store.h"

namespace tallyd {

// Of how many values, and of how many rows, a field's are looked at.
inline constexpr size_t kMostValuesLooked = 256;

// In words, with the nearest values that there are; empty: each filter on a key field names some
// value that there is, or nobody knows without reading more. Blocks on the store.
std::string HintAtUnknownValues(const EventQuery& query, Store& store, const ReadMemoryPtr& memory);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_RUN_UNKNOWN_VALUES_H_

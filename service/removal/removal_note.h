// RemovalNote: what a removal of events took, kept as a memo from its commit on until the latest
// rows are what history implies again (latest_restorer.h), so that a crash in between costs
// nothing.
#ifndef TALLYD_SERVICE_REMOVAL_REMOVAL_NOTE_H_
#define TALLYD_SERVICE_REMOVAL_REMOVAL_NOTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "service/query/ask/event_query.h"
#include "storage/store.h"

namespace tallyd {

struct RemovalNote {
  uint64_t number = 0;  // Of the store's removals, in their order. Not in the memo's value.
  std::string stream;
  std::vector<FieldFilter> filters;  // As they were spelled for the stream.
  TimeRange time;
  // The latest tables that are still to be seen to; none: all of the stream.
  std::vector<TableId> tables = {};
};

std::string RemovalNoteKey(uint64_t number);
std::string EncodeRemovalNote(const RemovalNote& note);
// Nothing where it is none.
std::optional<RemovalNote> DecodeRemovalNote(std::string_view key, std::string_view value);

// In the order of their numbers. What cannot be read is told in the log and left out.
Result<std::vector<RemovalNote>> ReadRemovalNotes(Store& store);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_REMOVAL_NOTE_H_

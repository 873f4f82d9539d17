// What is done about the rows that a request writes, whichever route it came by: once they are
// committed they count in the metrics, in the heat map and towards the limits of rows, and what is
// larger than recommended is told.
//
//   Status fits = context.row_sizes.Check(rows.row_bytes);        // Before the commit.
//   std::vector<std::string> warnings = NoteWritten(rows, context);   // Behind it.
#ifndef TALLYD_API_NOTE_WRITTEN_H_
#define TALLYD_API_NOTE_WRITTEN_H_

#include <string>
#include <vector>

#include "api/context.h"
#include "ingest/map/written_rows.h"
#include "ingest/text/json.h"

namespace tallyd {

// The warnings for the answer. Thread-safe.
std::vector<std::string> NoteWritten(const WrittenRows& rows, ApiContext& context);

// Adds the member `warnings`, where there are any.
void AddWarnings(const std::vector<std::string>& warnings, Json* answer);

}  // namespace tallyd

#endif  // TALLYD_API_NOTE_WRITTEN_H_

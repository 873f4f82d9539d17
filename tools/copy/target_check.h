// Whether the target may be sent a stream: its daemon has the tables that its configuration says,
// and what adds up has nothing yet of what would come.
#ifndef TALLYD_TOOLS_COPY_TARGET_CHECK_H_
#define TALLYD_TOOLS_COPY_TARGET_CHECK_H_

#include <string>

#include "config/schema/schema.h"
#include "config/values/time.h"
#include "tools/copy/copy_plan.h"

namespace tallyd {

// Whether something in the target adds up what it is sent, so that nothing may be sent twice.
bool AddsUp(const Schema& schema, const std::string& stream);
// The first table of the target that sums up or counts what it is sent, and so counts twice what
// two parts of an event both have; null if there is none.
const Table* CountingTable(const Schema& schema, const std::string& stream);
// kConflict where the target cannot take the stream: tables of another definition are in force, one
// that adds up may have what is to be copied, or labels of the source would be none there.
Status CheckTarget(const CopyEnds& ends, const std::string& stream, const TimeRange& time);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_TARGET_CHECK_H_

// What is known of a copied stream before its first event moves: out of which tables of the source
// it is read, what these may lack, and how its events must be spelled for the target.
#ifndef TALLYD_TOOLS_COPY_COPY_PLAN_H_
#define TALLYD_TOOLS_COPY_COPY_PLAN_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/time.h"
#include "ingest/text/json.h"
#include "tools/transfer/patient_client.h"

namespace tallyd {

// The two daemons, and the schema that is to be in force at the target.
struct CopyEnds {
  const PatientClient& from;
  const PatientClient& to;
  const Schema& schema;
};

struct SourceTable {
  std::string name;
  std::string time_field;  // What the target calls the time of its events.
};

// A table of the target that goes by a time of its own: an event that enters it without that field
// would get the time of its arrival.
struct OwnTime {
  std::string table;
  std::string time_field;         // In quotes, as JSON spells it, like the next.
  std::vector<std::string> when;  // The event enters it only with these.
};

struct StreamPlan {
  std::string stream;
  TimeUnit from_unit = TimeUnit::kMilliseconds;
  TimeUnit to_unit = TimeUnit::kMilliseconds;
  std::vector<SourceTable> tables;  // Several: an event comes in parts.
  std::string lack;                 // What may be missing from all of them; empty: nothing is.
};

struct CopyAsked {
  TimeRange time;
  bool partial = false;  // Copies what there is, and goes on without what is refused.
  bool verify = true;
};

// Those that a stream feeds, without nightly ones.
std::vector<const Table*> TablesOf(const Schema& schema, const std::string& stream);

// kNotFound: the source has no such stream. kConflict says what stands in the way, and the cure.
Result<StreamPlan> PlanStream(const CopyEnds& ends, const std::string& stream,
                              const CopyAsked& asked);
std::vector<OwnTime> OwnTimesOf(const Schema& schema, const std::string& stream,
                                const std::string& time_field);

Json JsonOfStreamPlan(const StreamPlan& plan);
Result<StreamPlan> StreamPlanOfJson(const Json& json, const Schema& schema);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_COPY_PLAN_H_

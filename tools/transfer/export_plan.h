// Out of which tables a stream's events are to be exported: one that holds everything, or, where
// none does, as few as hold every field among them.
#ifndef TALLYD_TOOLS_TRANSFER_EXPORT_PLAN_H_
#define TALLYD_TOOLS_TRANSFER_EXPORT_PLAN_H_

#include <string>
#include <vector>

#include "config/values/time.h"
#include "ingest/text/json.h"
#include "tools/transfer/csv_spelling.h"
#include "tools/transfer/patient_client.h"

namespace tallyd {

struct ExportPlan {
  std::vector<std::string> tables;  // Never empty; several: an event comes in parts.
  std::string lack;                 // What may be missing from all of them; empty: nothing is.
};

// A time as a parameter of a query: milliseconds with decimals, which nobody takes for seconds.
std::string QueryTimeText(TimeUs time);

// The unit that such a member names. kIo where it names none.
Result<TimeUnit> UnitSaid(const Json& json, const char* member = "unit");

// The parameters that every request of the export has: "scan=1&from=...".
std::string ExportParameters(const TransferLine& line);

// Errors are those of PatientClient::Get.
Result<ExportPlan> PlanExport(const TransferLine& line, const PatientClient& client);

// What the table's events need, where they come as CSV, to be taken by the stream.
Result<CsvSpelling> SpellingOf(const std::string& stream, const std::string& table,
                               const PatientClient& client);

// `events`: the path of a query for events, without a format and a limit. kIo where somebody
// between the daemon and here drops the header that leads to the next page: any page would look
// like the last one.
Status CheckLinks(const std::string& events, const PatientClient& client);

// Whether the table's events come in the order of its keys, in which it is read the fastest; else
// they do in order of time.
Result<bool> ComesByKey(const std::string& table, const PatientClient& client);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TRANSFER_EXPORT_PLAN_H_

// The handlers of routes: plain functions from a request to its answer, which endpoints run on
// query threads, where they may block (api/endpoint/query_endpoint.h). An answer's source may
// outlive the call, and holds what it needs (the schema snapshot, a scan). The routes are listed in
// api/routes/router.cc. Writing events (POST .../events) has an endpoint of its own, which never
// blocks (api/routes/ingest_endpoint.h).
#ifndef TALLYD_API_HANDLERS_H_
#define TALLYD_API_HANDLERS_H_

#include "api/context.h"
#include "api/request.h"
#include "api/response.h"

namespace tallyd {

using Handler = Response (*)(const Request&, ApiContext&);

// Reading events (api/query/).
Response GetEvents(const Request& request, ApiContext& context);  // {stream}
Response GetPlan(const Request& request, ApiContext& context);    // {stream}
Response GetLatest(const Request& request, ApiContext& context);  // {stream}
Response ListStreams(const Request& request, ApiContext& context);
Response GetStream(const Request& request, ApiContext& context);   // {stream}
Response ListFields(const Request& request, ApiContext& context);  // {stream}
Response ListValues(const Request& request, ApiContext& context);  // {stream}
Response ListSeries(const Request& request, ApiContext& context);  // {stream}

// Reading rows (api/rows/).
Response GetRows(const Request& request, ApiContext& context);  // {table}
Response GetRow(const Request& request, ApiContext& context);   // {table} {key}
Response ListTables(const Request& request, ApiContext& context);
Response GetTable(const Request& request, ApiContext& context);  // {table}

// Changing (api/mutations/).
Response PostMutations(const Request& request, ApiContext& context);  // {table} {key}

// Removing (api/removal/).
Response DeleteEvents(const Request& request, ApiContext& context);  // {stream}
Response DeleteRows(const Request& request, ApiContext& context);    // {table}
Response DeleteRow(const Request& request, ApiContext& context);     // {table} {key}
Response DeleteCells(const Request& request,
                     ApiContext& context);  // {table} {key} {family:qualifier}
Response DropTable(const Request& request, ApiContext& context);  // {table}

// Nightly tables (api/routes/daily.cc).
Response PostDaily(const Request& request, ApiContext& context);  // {table}

// Operating (api/routes/operation.cc). The first two never block.
Response GetHealth(const Request& request, ApiContext& context);
Response GetReady(const Request& request, ApiContext& context);
Response GetMetrics(const Request& request, ApiContext& context);
Response GetHeatmap(const Request& request, ApiContext& context);  // api/routes/heatmap.cc
Response GetStatus(const Request& request, ApiContext& context);
Response PostReload(const Request& request, ApiContext& context);
Response PostBackup(const Request& request, ApiContext& context);
Response PostSettle(const Request& request, ApiContext& context);
Response PostTrustClock(const Request& request, ApiContext& context);
Response GetLint(const Request& request, ApiContext& context);  // api/lint/

}  // namespace tallyd

#endif  // TALLYD_API_HANDLERS_H_

// POST /v1/streams/{stream}/events: the steps of ingest.h around the body and the commit. All CPU
// is the connection's own thread's; while the batch is committed nothing of it is held here but
// what its answer tells.
#ifndef TALLYD_API_ROUTES_INGEST_ENDPOINT_H_
#define TALLYD_API_ROUTES_INGEST_ENDPOINT_H_

#include <memory>

#include "api/endpoint/endpoint.h"

namespace tallyd {

std::unique_ptr<Endpoint> MakeIngestEndpoint(Exchange& exchange);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_INGEST_ENDPOINT_H_

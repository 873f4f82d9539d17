// POST /api/put: data points of OpenTSDB's agents (docs/http.md). 204, or what the flags ask for,
// only when all good points are durable; they are stored beside bad ones, which make it a 400.
#ifndef TALLYD_API_OPENTSDB_PUT_ENDPOINT_H_
#define TALLYD_API_OPENTSDB_PUT_ENDPOINT_H_

#include <memory>

#include "api/endpoint/endpoint.h"

namespace tallyd {

std::unique_ptr<Endpoint> MakeOpenTsdbPut(Exchange& exchange);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_PUT_ENDPOINT_H_

// What agents ask of an InfluxDB before they write: GET /ping and /health, which tell of no data
// and so need no token, and /query, of which those statements are taken that agents send
// (query_statement.h). Databases are not made, since any name of one is good.
#ifndef TALLYD_API_INFLUX_INFO_ENDPOINTS_H_
#define TALLYD_API_INFLUX_INFO_ENDPOINTS_H_

#include <memory>

#include "api/endpoint/endpoint.h"

namespace tallyd {

std::unique_ptr<Endpoint> MakeInfluxPing(Exchange& exchange);
std::unique_ptr<Endpoint> MakeInfluxHealth(Exchange& exchange);
std::unique_ptr<Endpoint> MakeInfluxQuery(Exchange& exchange);

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_INFO_ENDPOINTS_H_

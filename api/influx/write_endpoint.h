// POST /write, /api/v2/write, /api/v3/write_lp: line protocol, in the dialects of InfluxDB.
#ifndef TALLYD_API_INFLUX_WRITE_ENDPOINT_H_
#define TALLYD_API_INFLUX_WRITE_ENDPOINT_H_

#include <memory>

#include "api/endpoint/endpoint.h"
#include "api/influx/influx_form.h"

namespace tallyd {

std::unique_ptr<Endpoint> MakeInfluxWrite(Exchange& exchange, InfluxDialect dialect);

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_WRITE_ENDPOINT_H_

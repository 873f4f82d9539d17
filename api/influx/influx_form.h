// What InfluxDB's three generations of an API have each in a form of their own: errors.
//
//   v1  {"error":"..."}
//   v2  {"code":"invalid","message":"..."}, with the code in X-Platform-Error-Code
//   v3  {"error":"..."}, with "data" where lines are told
//
// Agents drop what is refused by any 4xx, and v1's by 429, too: what may be sent again is 5xx here.
#ifndef TALLYD_API_INFLUX_INFLUX_FORM_H_
#define TALLYD_API_INFLUX_INFLUX_FORM_H_

#include <cstdint>
#include <string_view>

#include "api/response.h"
#include "config/values/result.h"

namespace tallyd {

enum class InfluxDialect : uint8_t { kV1, kV2, kV3 };

// The version of InfluxDB whose writes and questions of health are spoken; agents look at it.
inline constexpr std::string_view kSpokenInflux = "1.8.10";

// `message` may hold any bytes.
Response InfluxError(InfluxDialect dialect, unsigned status, std::string_view message);
// Of a failure of the daemon, its status included; 503 instead of 408 and 429.
Response InfluxErrorOf(InfluxDialect dialect, const Error& error);
// What the daemon refuses by itself on such a path (Endpoint::Refused): status and headers stay,
// but for 408 and 429, which become 503.
Response InInfluxForm(InfluxDialect dialect, Response problem);

// What InfluxDB sends with each answer: its version, and a number of the request.
void AddInfluxHeaders(Response* response);

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_INFLUX_FORM_H_

// Errors in OpenTSDB's form, which every path of that protocol answers with:
//
//   {"error":{"code":400,"message":"Method not allowed","details":"..."}}
//
// Agents drop what is refused by any 4xx, 408 and 429 included: what may be sent again is 5xx here.
#ifndef TALLYD_API_OPENTSDB_OPENTSDB_ERROR_H_
#define TALLYD_API_OPENTSDB_OPENTSDB_ERROR_H_

#include <string_view>

#include "api/response.h"
#include "config/values/result.h"

namespace tallyd {

// `details` is left out where it is empty. 503 and 507 carry Retry-After.
Response OpentsdbError(unsigned status, std::string_view message, std::string_view details = {});
// Of a failure of the daemon, its status included; 503 instead of 408 and 429.
Response OpentsdbErrorOf(const Error& error);
// What the daemon refuses by itself on such a path (Endpoint::Refused): status and headers stay,
// but for 408 and 429, which become 503.
Response InOpentsdbForm(Response problem);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_OPENTSDB_ERROR_H_

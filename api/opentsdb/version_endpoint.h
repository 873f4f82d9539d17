// GET /api/version: what OpenTSDB's clients ask to see who answers.
#ifndef TALLYD_API_OPENTSDB_VERSION_ENDPOINT_H_
#define TALLYD_API_OPENTSDB_VERSION_ENDPOINT_H_

#include <memory>
#include <string_view>

#include "api/endpoint/endpoint.h"

namespace tallyd {

// The version of OpenTSDB whose protocol is spoken.
inline constexpr std::string_view kSpokenOpenTsdb = "2.4.0";

std::unique_ptr<Endpoint> MakeOpenTsdbVersion(Exchange& exchange);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_VERSION_ENDPOINT_H_

// The statements of InfluxQL that agents send to make sure that there is a place for what they
// write: CREATE DATABASE and SHOW DATABASES, one or several with semicolons between.
#ifndef TALLYD_API_INFLUX_QUERY_STATEMENT_H_
#define TALLYD_API_INFLUX_QUERY_STATEMENT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

enum class InfluxStatement : uint8_t { kCreateDatabase, kShowDatabases };

// kInvalid: it is something else; reading goes by the daemon's own routes.
Result<std::vector<InfluxStatement>> ParseInfluxStatements(std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_QUERY_STATEMENT_H_

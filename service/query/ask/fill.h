// What `fill=` puts into steps that are empty. What it makes of them is in
// service/query/steps/fill_gaps.h.
#ifndef TALLYD_SERVICE_QUERY_ASK_FILL_H_
#define TALLYD_SERVICE_QUERY_ASK_FILL_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

// None: empty steps are left out.
enum class Fill : uint8_t { kNone, kNull, kPrevious, kLinear, kZero };

// kInvalid lists the names that there are.
Result<Fill> ParseFill(std::string_view name);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_FILL_H_

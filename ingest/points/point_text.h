// Numbers and times of data points as OpenTSDB takes them. Pure functions of text.
#ifndef TALLYD_INGEST_POINTS_POINT_TEXT_H_
#define TALLYD_INGEST_POINTS_POINT_TEXT_H_

#include <optional>
#include <string_view>

#include "config/values/time.h"
#include "config/values/value.h"

namespace tallyd {

// An integer, or a decimal with a point, an exponent or both; a sign, leading zeros, and nothing
// before or behind the point are taken ("+1", "007", ".5", "5."). Nothing: it is none, an integer
// beyond int64, or a decimal beyond the finite doubles.
std::optional<Value> ParsePointValue(std::string_view text);

// Seconds, or milliseconds where it is beyond 32 bits. Nothing: it is not after 1970, or has more
// than 13 digits.
std::optional<TimeUs> PointTime(int64_t time);
// The same of digits; or seconds with a fraction, "1356998400.125".
std::optional<TimeUs> ParsePointTime(std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_INGEST_POINTS_POINT_TEXT_H_

// A number as a request spells it, to the last digit: no double rounds it on the way.
#ifndef TALLYD_SERVICE_QUERY_ASK_SPELT_NUMBER_H_
#define TALLYD_SERVICE_QUERY_ASK_SPELT_NUMBER_H_

#include <optional>
#include <string>
#include <string_view>

#include "config/values/value.h"

namespace tallyd {

// Any usual spelling of a number as JSON has it: no plus, no zeros in front, a digit on both sides
// of the point. What is no number does not become one.
std::string JsonSpelling(std::string_view text);

// Whether the spelling has neither point nor exponent.
bool IsWholeSpelling(std::string_view json);

// An int64 where it is spelt as one; else the nearest float, of whole numbers beyond int64, too.
// Empty: no number, or one beyond the finite floats.
std::optional<Value> SpeltNumber(const std::string& json);

struct Floor {
  __extension__ __int128 floor = 0;  // Of what is beyond int64: beyond it on the same side.
  bool has_fraction = false;
};

// REQUIRES: `json` is a JSON number.
Floor FloorOf(std::string_view json);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_SPELT_NUMBER_H_

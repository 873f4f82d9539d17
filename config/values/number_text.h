// Numbers as text, written straight to where they belong: what AppendText (config/values/value.h)
// spells, and JSON as well.
#ifndef TALLYD_CONFIG_VALUES_NUMBER_TEXT_H_
#define TALLYD_CONFIG_VALUES_NUMBER_TEXT_H_

#include <cstddef>
#include <cstdint>

#include "config/values/value.h"

namespace tallyd {

// Room for any number.
inline constexpr size_t kMaxNumberText = 40;

// All return the end of the text.
char* WriteInt(int64_t v, char* to);
// The shortest round-trip spelling of a finite double, with ".0" when it has neither point nor
// exponent. What repr() of Python prints.
char* WriteDouble(double v, char* to);
// REQUIRES: value.is_number().
char* WriteNumber(const Value& value, char* to);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_NUMBER_TEXT_H_

// A filter's value as it was asked for -> the texts under which that value may be stored. Filters
// compare texts, but a number is the same number however it is spelt: n=0987654 finds 987654, and
// x=0.50 finds 0.5. What is spelt as an integer is that integer, and a float only where one equals
// it; what has a point or an exponent is the float that is read of it, too.
#ifndef TALLYD_SERVICE_QUERY_ASK_FILTER_VALUES_H_
#define TALLYD_SERVICE_QUERY_ASK_FILTER_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

// What the stream knows of the field.
struct FilteredField {
  std::string_view name;
  uint8_t type_bits = 0;          // FieldInfo::type_bits
  bool is_padded_digits = false;  // A row key renders it by zero(n), which makes a string a number.
};

// Distinct, never empty. kInvalid when the field only ever had types that cannot have this text.
Result<std::vector<std::string>> TextsOf(const FilteredField& field, const std::string& asked);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_FILTER_VALUES_H_

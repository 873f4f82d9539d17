#include "service/query/steps/fill_gaps.h"

#include <algorithm>
#include <cstddef>

#include "service/query/steps/exact.h"

namespace tallyd {
namespace {

void FillLinear(std::span<Value> values) {
  const auto has_value = [](const Value& value) { return !value.is_null(); };
  auto left = std::ranges::find_if(values, has_value);
  while (left != values.end()) {
    const auto right = std::find_if(left + 1, values.end(), has_value);
    if (right == values.end()) return;
    if (left->is_number() && right->is_number()) {
      const auto whole = static_cast<uint64_t>(right - left);
      for (uint64_t part = 1; part < whole; ++part) {
        *(left + static_cast<std::ptrdiff_t>(part)) = Between(*left, *right, part, whole);
      }
    }
    left = right;
  }
}

}  // namespace

void FillGaps(Fill fill, std::span<Value> values) {
  switch (fill) {
    case Fill::kNone:
    case Fill::kNull:
      return;
    case Fill::kLinear:
      return FillLinear(values);
    case Fill::kZero:
      std::ranges::replace_if(values, &Value::is_null, Value::Int(0));
      return;
    case Fill::kPrevious:
      break;
  }
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i].is_null()) values[i] = values[i - 1];
  }
}

}  // namespace tallyd

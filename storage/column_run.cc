#include "storage/column_run.h"

namespace tallyd {

Value ColumnData::OtherAt(size_t index) const {
  switch (kind) {
    case Kind::kInt:
      return Value::Int(numbers[index]);
    case Kind::kDecimal:
      return Value::Decimal(numbers[index], scale);
    case Kind::kDouble:
      return Value::Double(doubles[index]);
    case Kind::kBool:
      return Value::Bool(numbers[index] != 0);
    case Kind::kString:
      return Value::String(texts[index]);
    case Kind::kBytes:
      return Value::Bytes(texts[index]);
    case Kind::kMixed:
      break;
  }
  return values[index];
}

size_t ColumnData::size() const {
  switch (kind) {
    case Kind::kDouble:
      return doubles.size();
    case Kind::kString:
    case Kind::kBytes:
      return texts.size();
    case Kind::kMixed:
      return values.size();
    default:
      return numbers.size();
  }
}

}  // namespace tallyd

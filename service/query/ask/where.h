// Where: one comparison of `where=`, as in CPU/CPU1_USR>0.9: a field, an operator (> >= < <= = !=)
// and what stands behind it.
//
// Numbers compare as the numbers that they are, whatever their types: int64 with decimals and
// floats, nothing is rounded to a float64 first, and any usual spelling will do ("+1.50", "1e3").
// What has a point or an exponent is for a float64 the float64 that an event would have brought.
// Texts compare with the text behind the operator by bytes, bools with true and false (which is the
// less). A value and a text that is nothing of the value's kind are unequal, and neither is
// greater. What an event does not have compares with nothing, not even as unequal.
#ifndef TALLYD_SERVICE_QUERY_ASK_WHERE_H_
#define TALLYD_SERVICE_QUERY_ASK_WHERE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "config/values/value.h"
#include "service/query/ask/stream_fields.h"

namespace tallyd {

enum class Comparison : uint8_t {
  kGreaterEqual,
  kLessEqual,
  kNotEqual,
  kGreater,
  kLess,
  kEqual,
};

// What stands behind the operator.
class Operand {
 public:
  explicit Operand(std::string text);

  // How the value stands to it; nothing where they are of different kinds.
  std::optional<std::weak_ordering> OrderOf(const Value& value) const;
  const std::string& text() const { return text_; }
  bool is_number() const { return number_.has_value(); }
  bool is_bool() const { return text_ == "true" || text_ == "false"; }

 private:
  std::string text_;
  std::optional<Value> number_;
  // The same number for comparison with integers: the greatest integer that is not above it
  // (clamped far beyond int64), and whether it lies above that one.
  __extension__ __int128 floor_ = 0;
  bool has_fraction_ = false;
};

struct Where {
  std::string field;
  Comparison comparison = Comparison::kEqual;
  Operand operand;

  bool Holds(const Value& value) const;
};

// Field names may contain operators: the longest known field that one stands behind is meant.
// kInvalid: the text has not this form, the field is unknown (the message names near ones), or it
// only ever had types that cannot compare with the operand.
Result<Where> ParseWhere(std::string_view text, const StreamFields& known);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_WHERE_H_

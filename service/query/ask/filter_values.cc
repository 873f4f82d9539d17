#include "service/query/ask/filter_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "config/values/value.h"
#include "service/query/ask/spelt_number.h"
#include "storage/store.h"

namespace tallyd {
namespace {

constexpr uint8_t kInt = TypeBit(ValueType::kInt64);
constexpr uint8_t kFloat = TypeBit(ValueType::kFloat64);
constexpr uint8_t kBool = TypeBit(ValueType::kBool);
constexpr uint8_t kTexts = TypeBit(ValueType::kString) | TypeBit(ValueType::kBytes) | kLabelBit;

void Add(std::string text, std::vector<std::string>* texts) {
  if (std::find(texts->begin(), texts->end(), text) == texts->end()) {
    texts->push_back(std::move(text));
  }
}

// The integer that is spelt, to the last digit, where it is one.
void AddInteger(std::string_view json, std::vector<std::string>* texts) {
  const Floor number = FloorOf(json);
  const bool fits = number.floor >= std::numeric_limits<int64_t>::min() &&
                    number.floor <= std::numeric_limits<int64_t>::max();
  if (number.has_fraction || !fits) return;
  Add(ToText(Value::Int(static_cast<int64_t>(number.floor))), texts);
}

// REQUIRES: `value` is a whole number.
bool IsExactly(double value, std::string_view json) {
  std::array<char, std::numeric_limits<double>::max_exponent10 + 3> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                        std::chars_format::fixed, 0)
                              .ptr;
  return std::string_view(digits.data(), static_cast<size_t>(end - digits.data())) == json;
}

// The float that is spelt: the nearest one, but of an integer only the one that equals it.
void AddFloat(double value, std::string_view json, std::vector<std::string>* texts) {
  if (value == 0) {
    Add(ToText(Value::Double(0.0)), texts);
    Add(ToText(Value::Double(-0.0)), texts);
  } else if (!IsWholeSpelling(json) || IsExactly(value, json)) {
    Add(ToText(Value::Double(value)), texts);
  }
}

Error NeverHad(const FilteredField& field, const std::string& asked, const char* what) {
  return Invalid(std::string(field.name) + ": '" + asked + "' is no " + what + ", and " +
                 std::string(field.name) + " has never been anything else");
}

}  // namespace

Result<std::vector<std::string>> TextsOf(const FilteredField& field, const std::string& asked) {
  const uint8_t types = field.type_bits;
  const bool is_text = types == 0 || (types & kTexts) != 0;
  std::vector<std::string> texts;
  if (is_text) texts.push_back(asked);
  if ((types & kBool) != 0 && (asked == "true" || asked == "false")) Add(asked, &texts);
  const std::string json = JsonSpelling(asked);
  if (const std::optional<Value> number = SpeltNumber(json)) {
    if ((types & kInt) != 0 || field.is_padded_digits) AddInteger(json, &texts);
    if ((types & kFloat) != 0) AddFloat(number->AsDouble(), json, &texts);
    // A number that the field cannot have, as half of an integer: nothing is found.
    if (texts.empty() && (types & (kInt | kFloat)) != 0) texts.push_back(asked);
  }
  if (!texts.empty()) return texts;
  return NeverHad(field, asked,
                  (types & kBool) == 0 ? "number"
                  : types == kBool     ? "bool"
                                       : "number or bool");
}

}  // namespace tallyd

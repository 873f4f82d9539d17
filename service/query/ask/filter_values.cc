#include "service/query/ask/filter_values.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "config/values/value.h"
#include "storage/store.h"

namespace tallyd {
namespace {

constexpr uint8_t kInt = TypeBit(ValueType::kInt64);
constexpr uint8_t kFloat = TypeBit(ValueType::kFloat64);
constexpr uint8_t kBool = TypeBit(ValueType::kBool);
constexpr uint8_t kTexts = TypeBit(ValueType::kString) | TypeBit(ValueType::kBytes);
// Integers below that are floats, too.
constexpr double kExact = 9'007'199'254'740'992.0;

void Add(std::string text, std::vector<std::string>* texts) {
  if (std::find(texts->begin(), texts->end(), text) == texts->end()) {
    texts->push_back(std::move(text));
  }
}

void AddInteger(const Value& number, std::vector<std::string>* texts) {
  if (number.type() == ValueType::kInt64) return Add(ToText(number), texts);
  const double value = number.AsDouble();
  if (std::trunc(value) != value || std::abs(value) > kExact) return;
  Add(ToText(Value::Int(static_cast<int64_t>(value))), texts);
}

Error NeverHad(const FilteredField& field, const std::string& asked, const char* what) {
  return Invalid(std::string(field.name) + ": '" + asked + "' is no " + what + ", and " +
                 std::string(field.name) + " has never been anything else");
}

}  // namespace

std::string JsonSpelling(std::string_view text) {
  std::string plain;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    if (text.front() == '-') plain = "-";
    text.remove_prefix(1);
  }
  const size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  const std::string_view rest = text.substr(zeros);
  const bool starts_with_digit = !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
  const bool starts_with_point = rest.starts_with('.') && (zeros > 0 || rest.size() > 1);
  if (!starts_with_digit && (zeros > 0 || starts_with_point)) plain.push_back('0');
  plain += rest;
  if (plain.ends_with('.')) plain.push_back('0');
  return plain;
}

Result<std::vector<std::string>> TextsOf(const FilteredField& field, const std::string& asked) {
  const uint8_t types = field.type_bits;
  const bool is_text = types == 0 || (types & kTexts) != 0;
  std::vector<std::string> texts;
  if (is_text) texts.push_back(asked);
  if ((types & kBool) != 0 && (asked == "true" || asked == "false")) Add(asked, &texts);
  if (const std::optional<Value> number = ParseNumber(JsonSpelling(asked))) {
    if ((types & kInt) != 0 || field.is_padded_digits) AddInteger(*number, &texts);
    if ((types & kFloat) != 0) Add(ToText(Value::Double(number->AsDouble())), &texts);
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

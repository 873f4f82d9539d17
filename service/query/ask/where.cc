#include "service/query/ask/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "service/query/ask/spelt_number.h"
#include "storage/store.h"

namespace tallyd {
namespace {

// Of each of Comparison, in its order: an operator comes before those that begin it.
constexpr std::array<std::string_view, 6> kOperators = {">=", "<=", "!=", ">", "<", "="};
constexpr char kForm[] =
    "expected FIELD, one of > >= < <= = !=, and a value, for example where=CPU/CPU1_USR>0.9";

template <class T>
std::weak_ordering Order(const T& a, const T& b) {
  if (a < b) return std::weak_ordering::less;
  return b < a ? std::weak_ordering::greater : std::weak_ordering::equivalent;
}

// Where an operator begins at `at`: which.
std::optional<Comparison> OperatorAt(std::string_view text, size_t at) {
  for (size_t i = 0; i < kOperators.size(); ++i) {
    if (text.substr(at).starts_with(kOperators[i])) return static_cast<Comparison>(i);
  }
  return std::nullopt;
}

// Whether a field that had such types can compare with the operand.
Status CheckTypes(const Where& where, const StreamFields& known) {
  uint8_t types = known.TypesOf(where.field);
  for (const std::string& spelling : known.SpellingsOf(where.field)) {
    types |= known.TypesOf(spelling);
  }
  constexpr uint8_t kNumber = TypeBit(ValueType::kInt64) | TypeBit(ValueType::kFloat64);
  constexpr uint8_t kBool = TypeBit(ValueType::kBool);
  constexpr uint8_t kText = TypeBit(ValueType::kString) | TypeBit(ValueType::kBytes) | kLabelBit;
  if (types == 0 || (types & kText) != 0) return {};
  if ((types & kNumber) != 0 && where.operand.is_number()) return {};
  if ((types & kBool) != 0 && where.operand.is_bool()) return {};
  const char* what = (types & kBool) == 0     ? "number"
                     : (types & kNumber) == 0 ? "bool"
                                              : "number or bool";
  return Invalid(fmt::format("where: '{}' is no {}, and {} has never been anything else; {}",
                             where.operand.text(), what, where.field, kForm));
}

}  // namespace

Operand::Operand(std::string text) : text_(std::move(text)) {
  const std::string json = JsonSpelling(text_);
  number_ = SpeltNumber(json);
  if (!number_) return;
  const Floor floor = FloorOf(json);
  floor_ = floor.floor;
  has_fraction_ = floor.has_fraction;
}

// A long double holds every int64 and every double exactly.
std::optional<std::weak_ordering> Operand::OrderOf(const Value& value) const {
  static_assert(std::numeric_limits<long double>::digits >= 63);
  switch (value.type()) {
    case ValueType::kNull:
      return std::nullopt;
    case ValueType::kBool:
      if (!is_bool()) return std::nullopt;
      return Order(value.AsBool(), text_ == "true");
    case ValueType::kString:
    case ValueType::kBytes:
      return Order(value.AsView(), std::string_view(text_));
    case ValueType::kInt64: {
      if (!number_) return std::nullopt;
      const std::weak_ordering order = Order<decltype(floor_)>(value.AsInt(), floor_);
      return order == 0 && has_fraction_ ? std::weak_ordering::less : order;
    }
    case ValueType::kFloat64:
      break;
  }
  if (!number_) return std::nullopt;
  if (number_->type() == ValueType::kFloat64) return Order(value.AsDouble(), number_->AsDouble());
  return Order(static_cast<long double>(value.AsDouble()),
               static_cast<long double>(number_->AsInt()));
}

bool Where::Holds(const Value& value) const {
  if (value.is_null()) return false;
  const std::optional<std::weak_ordering> order = operand.OrderOf(value);
  if (!order) return comparison == Comparison::kNotEqual;
  switch (comparison) {
    case Comparison::kGreaterEqual:
      return *order >= 0;
    case Comparison::kLessEqual:
      return *order <= 0;
    case Comparison::kNotEqual:
      return *order != 0;
    case Comparison::kGreater:
      return *order > 0;
    case Comparison::kLess:
      return *order < 0;
    case Comparison::kEqual:
      break;
  }
  return *order == 0;
}

Result<Where> ParseWhere(std::string_view text, const StreamFields& known) {
  const auto malformed = [&] { return Invalid(fmt::format("where: '{}': {}", text, kForm)); };
  std::optional<size_t> first;
  std::optional<size_t> longest;
  for (size_t at = 1; at < text.size(); ++at) {
    if (!OperatorAt(text, at)) continue;
    if (!first) first = at;
    if (known.Knows(text.substr(0, at))) longest = at;
  }
  if (!first) return malformed();
  const size_t at = longest.value_or(*first);
  const Comparison comparison = *OperatorAt(text, at);
  const size_t behind = at + kOperators[static_cast<size_t>(comparison)].size();
  if (behind >= text.size()) return malformed();
  if (!longest) return known.Unknown(text.substr(0, at)).Prefixed("where");
  Where where = {std::string(text.substr(0, at)), comparison,
                 Operand(std::string(text.substr(behind)))};
  if (Status status = CheckTypes(where, known); !status) return status.error();
  return where;
}

}  // namespace tallyd

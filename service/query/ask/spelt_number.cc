#include "service/query/ask/spelt_number.h"

#include <algorithm>
#include <charconv>

namespace tallyd {
namespace {

__extension__ using Int128 = __int128;

int64_t ExponentOf(std::string_view digits) {
  constexpr int64_t kFar = 1'000'000;  // Beyond all that a request has room for.
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t exponent = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (ec != std::errc()) exponent = digits.starts_with('-') ? -kFar : kFar;
  return std::clamp(exponent, -kFar, kFar);
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

bool IsWholeSpelling(std::string_view json) {
  if (json.starts_with('-')) json.remove_prefix(1);
  return !json.empty() && json.find_first_not_of("0123456789") == json.npos;
}

std::optional<Value> SpeltNumber(const std::string& json) {
  const std::optional<Value> number = ParseNumber(json);
  return !number && IsWholeSpelling(json) ? ParseNumber(json + ".0") : number;
}

Floor FloorOf(std::string_view number) {
  constexpr int64_t kDigits = 19;  // Of the greatest int64.
  const bool negative = number.starts_with('-');
  if (negative) number.remove_prefix(1);
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const int64_t exponent = e == number.size() ? 0 : ExponentOf(number.substr(e + 1));
  std::string digits(number.substr(0, e));
  auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size())) + exponent;
  std::erase(digits, '.');
  const size_t zeros = digits.find_first_not_of('0');
  if (zeros == std::string::npos) return {};
  digits.erase(0, zeros);
  point -= static_cast<int64_t>(zeros);
  if (point > kDigits) return {negative ? -(Int128{1} << 64) : Int128{1} << 64, false};
  Int128 whole = 0;
  for (int64_t i = 0; i < point; ++i) {
    const auto at = static_cast<size_t>(i);
    whole = whole * 10 + (at < digits.size() ? digits[at] - '0' : 0);
  }
  const auto behind = static_cast<size_t>(std::max<int64_t>(point, 0));
  const bool has_fraction = digits.find_first_not_of('0', behind) != std::string::npos;
  return {negative ? -whole - (has_fraction ? 1 : 0) : whole, has_fraction};
}

}  // namespace tallyd

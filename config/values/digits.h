// Decimal digits of keys, written and read without a stream, a locale or an allocation.
#ifndef TALLYD_CONFIG_VALUES_DIGITS_H_
#define TALLYD_CONFIG_VALUES_DIGITS_H_

#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

inline size_t CountDigits(uint64_t value) {
  size_t count = 1;
  for (; value >= 10; value /= 10) ++count;
  return count;
}

// Exactly `width` digits, zero-padded on the left. `value` must fit.
inline void AppendDigits(uint64_t value, size_t width, std::string* out) {
  assert(CountDigits(value) <= width);
  out->append(width, '0');
  for (char* digit = out->data() + out->size(); value > 0; value /= 10) {
    *--digit = static_cast<char>('0' + value % 10);
  }
}

inline void AppendNumber(uint64_t value, std::string* out) {
  AppendDigits(value, CountDigits(value), out);
}

// How many digits `text` begins with.
inline size_t LeadingDigits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  return count;
}

// Nothing but digits, at least one, leading zeros allowed, at most INT64_MAX.
inline std::optional<int64_t> ParseDigits(std::string_view text) {
  if (text.empty() || LeadingDigits(text) != text.size()) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// The same, as a number is spelled: without leading zeros.
inline std::optional<int64_t> ParsePlainInteger(std::string_view text) {
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return ParseDigits(text);
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_DIGITS_H_

// Decimal digits of keys, written and read without a stream, a locale or an allocation.
#ifndef TALLYD_CONFIG_VALUES_DIGITS_H_
#define TALLYD_CONFIG_VALUES_DIGITS_H_

#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// All that fit 64 bits.
inline constexpr auto kPowersOfTen = [] {
  std::array<uint64_t, 20> powers{};
  uint64_t power = 1;
  for (uint64_t& each : powers) {
    each = power;
    power *= 10;
  }
  return powers;
}();

// "00" to "99".
inline constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

inline size_t CountDigits(uint64_t value) {
  // 1233 / 4096 is a little more than log10(2).
  const auto count = static_cast<size_t>(std::bit_width(value | 1)) * 1233 >> 12;
  return count + (value >= kPowersOfTen[count] || count == 0 ? 1 : 0);
}

// The last `count` digits, up to `end`; returns what is before them. Digits are stored where they
// belong and not read again: a wide load of bytes just stored would wait for them.
inline uint64_t WriteLastDigits(size_t count, uint64_t value, char* end) {
  for (; count >= 2; count -= 2) {
    end -= 2;
    std::memcpy(end, &kDigitPairs[2 * (value % 100)], 2);
    value /= 100;
  }
  if (count == 0) return value;
  end[-1] = static_cast<char>('0' + value % 10);
  return value / 10;
}

// Exactly `width` digits, zero-padded on the left. `value` must fit.
inline void AppendDigits(uint64_t value, size_t width, std::string* out) {
  assert(CountDigits(value) <= width);
  out->append(width, '0');
  WriteLastDigits(width, value, out->data() + out->size());
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

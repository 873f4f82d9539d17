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

// Eight digits, the first in the lowest byte. Halves, quarters and digits are parted side by side
// in one word. REQUIRES: it has no more.
inline uint64_t EightDigits(uint64_t value) {
  constexpr uint64_t kZeros = 0x3030303030303030;
  const uint64_t halves = value / 10'000 | value % 10'000 << 32;
  const uint64_t hundreds = halves * 10'486 >> 20 & 0x0000'007f'0000'007f;
  const uint64_t quarters = hundreds | (halves - hundreds * 100) << 16;
  const uint64_t tens = quarters * 103 >> 10 & 0x000f'000f'000f'000f;
  return (tens | (quarters - tens * 10) << 8) + kZeros;
}

namespace digits_internal {

inline constexpr uint64_t kEightDigits = 100'000'000;

// Of the bytes of a word, the first in the lowest one, `count` from the first on. REQUIRES: 4 to 8.
inline void StoreBytes(uint64_t word, size_t count, char* to) {
  if constexpr (std::endian::native == std::endian::little) {
    if (count == sizeof word) {
      std::memcpy(to, &word, sizeof word);
      return;
    }
  }
  for (const size_t at : {size_t{0}, count - sizeof(uint32_t)}) {
    auto half = static_cast<uint32_t>(word >> 8 * at);
    if constexpr (std::endian::native == std::endian::big) half = __builtin_bswap32(half);
    std::memcpy(to + at, &half, sizeof half);
  }
}
// Whether they stand at `at`.
inline bool HasBytes(uint64_t word, size_t count, const char* at) {
  for (const size_t from : {size_t{0}, count - sizeof(uint32_t)}) {
    uint32_t half = 0;
    std::memcpy(&half, at + from, sizeof half);
    if constexpr (std::endian::native == std::endian::big) half = __builtin_bswap32(half);
    if (half != static_cast<uint32_t>(word >> 8 * from)) return false;
  }
  return true;
}

}  // namespace digits_internal

// The last `count` digits, up to `end`; returns what is before them. Digits are stored where they
// belong and not read again: a wide load of bytes just stored would wait for them.
inline uint64_t WriteLastDigits(size_t count, uint64_t value, char* end) {
  using namespace digits_internal;
  for (; count >= 8; count -= 8) {
    end -= 8;
    StoreBytes(EightDigits(value % kEightDigits), 8, end);
    value /= kEightDigits;
  }
  if (count >= 4) {
    StoreBytes(EightDigits(value % kEightDigits) >> 8 * (8 - count), count, end - count);
    return value / kPowersOfTen[count];
  }
  for (; count >= 2; count -= 2) {
    end -= 2;
    std::memcpy(end, &kDigitPairs[2 * (value % 100)], 2);
    value /= 100;
  }
  if (count == 0) return value;
  end[-1] = static_cast<char>('0' + value % 10);
  return value / 10;
}

// Whether `text` is what WriteLastDigits writes, without writing it.
inline bool AreLastDigits(std::string_view text, uint64_t value) {
  using namespace digits_internal;
  const char* end = text.data() + text.size();
  size_t count = text.size();
  for (; count >= 8; count -= 8) {
    end -= 8;
    if (!HasBytes(EightDigits(value % kEightDigits), 8, end)) return false;
    value /= kEightDigits;
  }
  if (count >= 4) {
    const uint64_t digits = EightDigits(value % kEightDigits);
    return HasBytes(digits >> 8 * (8 - count), count, end - count);
  }
  for (; count > 0; --count, value /= 10) {
    if (*--end != static_cast<char>('0' + value % 10)) return false;
  }
  return true;
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

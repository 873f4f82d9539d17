#include "config/schema/key_escape.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace tallyd {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";
constexpr size_t kEscapeSize = 3;

bool MustEscape(char c, char stop) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || c == '%' || c == stop;
}

// Whether any of the eight bytes must be escaped, without a look at each. A subtraction borrows
// from a byte only behind one that is found, so that the first is always right.
bool AnyMustEscape(uint64_t bytes, char stop) {
  constexpr uint64_t kEach = 0x0101010101010101;
  constexpr uint64_t kHighBits = kEach * 0x80;
  const auto any_below = [](uint64_t word, uint64_t limit) {
    return (word - kEach * limit) & ~word & kHighBits;
  };
  const auto any_equal = [&](uint64_t c) { return any_below(bytes ^ kEach * c, 1); };
  return (any_below(bytes, 0x20) | any_equal(0x7f) | any_equal('%') |
          any_equal(static_cast<unsigned char>(stop))) != 0;
}

// The value of an uppercase hex digit; -1 for any other byte.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool NeedsEscape(std::string_view text, char stop) {
  uint64_t word = 0;
  if (text.size() < sizeof word / 2) {
    return std::any_of(text.begin(), text.end(), [stop](char c) { return MustEscape(c, stop); });
  }
  if (text.size() < sizeof word) {
    // Two halves, which may share bytes.
    uint32_t begin = 0;
    uint32_t end = 0;
    std::memcpy(&begin, text.data(), sizeof begin);
    std::memcpy(&end, text.data() + text.size() - sizeof end, sizeof end);
    return AnyMustEscape(uint64_t{end} << 32 | begin, stop);
  }
  // The last word may share bytes with the one before it.
  for (size_t at = 0; at < text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + std::min(at, text.size() - sizeof word), sizeof word);
    if (AnyMustEscape(word, stop)) return true;
  }
  return false;
}

void EscapeTail(size_t start, char stop, std::string* out) {
  if (!NeedsEscape(std::string_view(*out).substr(start), stop)) return;
  const auto must = [stop](char c) { return MustEscape(c, stop); };
  const auto begin = out->begin() + static_cast<std::ptrdiff_t>(start);
  const auto count = static_cast<size_t>(std::count_if(begin, out->end(), must));
  size_t from = out->size();
  size_t to = from + count * (kEscapeSize - 1);
  out->resize(to);
  // From the back, so that nothing is overwritten before it is read.
  while (from > start) {
    const char c = (*out)[--from];
    if (!must(c)) {
      (*out)[--to] = c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    (*out)[--to] = kHex[byte % 16];
    (*out)[--to] = kHex[byte / 16];
    (*out)[--to] = '%';
  }
}

size_t FindStop(std::string_view text, char stop) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == stop) return i;
    i += text[i] == '%' ? kEscapeSize : 1;
  }
  return std::string_view::npos;
}

bool Unescape(std::string_view raw, char stop, std::string* scratch, std::string_view* text) {
  if (!NeedsEscape(raw, stop)) {
    *text = raw;
    return true;
  }
  assert(scratch->capacity() - scratch->size() >= raw.size());
  const size_t start = scratch->size();
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (MustEscape(c, stop)) {
      if (c != '%' || raw.size() - i < kEscapeSize) return false;
      const int high = HexValue(raw[i + 1]);
      const int low = HexValue(raw[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      if (!MustEscape(c, stop)) return false;
      i += kEscapeSize - 1;
    }
    scratch->push_back(c);
  }
  *text = std::string_view(*scratch).substr(start);
  return true;
}

}  // namespace tallyd

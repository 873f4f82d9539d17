#include "config/escape/key_escape.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace tallyd {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";
constexpr size_t kEscapeSize = 3;

using Bytes = unsigned char __attribute__((vector_size(16)));
using Words = std::array<uint64_t, 2>;

template <class Word>
Word Load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The stop bytes of a text: of one char, and of 16 at once.
struct OneStop {
  char stop;
  bool Has(char c) const { return c == stop; }
  Bytes In(Bytes bytes) const { return (bytes == Byte(stop)); }
  static Bytes Byte(char c) { return Bytes{} + static_cast<unsigned char>(c); }
};
struct ThreeStops {
  char stop;
  bool Has(char c) const { return c == ',' || c == '=' || c == stop; }
  Bytes In(Bytes bytes) const {
    return (bytes == ',') | (bytes == '=') | (bytes == OneStop::Byte(stop));
  }
};

template <class Stops>
bool MustEscape(char c, Stops stops) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || c == '%' || stops.Has(c);
}

// Whether any of the bytes must be escaped, without a look at each.
template <class Stops>
bool AnyMustEscape(Words words, Stops stops) {
  const auto bytes = std::bit_cast<Bytes>(words);
  const auto must = (bytes < 0x20) | (bytes == 0x7f) | (bytes == '%') | stops.In(bytes);
  const auto found = std::bit_cast<Words>(must);
  return (found[0] | found[1]) != 0;
}

// The value of an uppercase hex digit; -1 for any other byte.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <class Stops>
bool AnyNeedsEscape(std::string_view text, Stops stop) {
  const size_t size = text.size();
  const char* const begin = text.data();
  // What is not whole words has a second one that shares bytes with the first.
  if (size < sizeof(uint32_t)) {
    return std::any_of(text.begin(), text.end(), [stop](char c) { return MustEscape(c, stop); });
  }
  if (size < sizeof(uint64_t)) {
    const auto first = Load<uint32_t>(begin);
    const auto last = Load<uint32_t>(begin + size - sizeof first);
    return AnyMustEscape({first | uint64_t{last} << 32, first | uint64_t{last} << 32}, stop);
  }
  if (size < sizeof(Words)) {
    return AnyMustEscape({Load<uint64_t>(begin), Load<uint64_t>(begin + size - sizeof(uint64_t))},
                         stop);
  }
  for (size_t at = 0; at < size; at += sizeof(Words)) {
    const char* const from = begin + std::min(at, size - sizeof(Words));
    if (AnyMustEscape(Load<Words>(from), stop)) return true;
  }
  return false;
}

template <class Stops>
void EscapeTailFor(size_t start, Stops stop, std::string* out) {
  if (!AnyNeedsEscape(std::string_view(*out).substr(start), stop)) return;
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

template <class Stops>
bool UnescapeFor(std::string_view raw, Stops stop, std::string* scratch, std::string_view* text) {
  if (!AnyNeedsEscape(raw, stop)) {
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

}  // namespace

bool NeedsEscape(std::string_view text, char stop) { return AnyNeedsEscape(text, OneStop{stop}); }
bool NeedsEscape(std::string_view text, LabelStops stops) {
  return AnyNeedsEscape(text, ThreeStops{stops.stop});
}

void EscapeTail(size_t start, char stop, std::string* out) {
  EscapeTailFor(start, OneStop{stop}, out);
}
void EscapeTail(size_t start, LabelStops stops, std::string* out) {
  EscapeTailFor(start, ThreeStops{stops.stop}, out);
}

size_t FindStop(std::string_view text, char stop) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == stop) return i;
    i += text[i] == '%' ? kEscapeSize : 1;
  }
  return std::string_view::npos;
}

bool Unescape(std::string_view raw, char stop, std::string* scratch, std::string_view* text) {
  return UnescapeFor(raw, OneStop{stop}, scratch, text);
}
bool Unescape(std::string_view raw, LabelStops stops, std::string* scratch,
              std::string_view* text) {
  return UnescapeFor(raw, ThreeStops{stops.stop}, scratch, text);
}

}  // namespace tallyd

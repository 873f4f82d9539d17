#include "storage/bigtable/codec/value_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace tallyd {
namespace {

constexpr char kQuote = '\'';
constexpr char kBytesMark = 'b';
constexpr std::string_view kTrue = "true";
constexpr std::string_view kFalse = "false";
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

constexpr auto kDigitValues = [] {
  std::array<uint8_t, 256> values = {};
  values.fill(kNoDigit);
  for (uint8_t i = 0; i < kDigits.size(); ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}();

void AppendBase64(std::string_view bytes, std::string* out) {
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out->push_back(j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=');
    }
  }
}

// Nothing unless it is what AppendBase64 makes of some bytes.
std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    if (i + 4 == text.size()) {
      while (digits > 2 && text[i + digits - 1] == '=') --digits;
    }
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t value = j < digits ? kDigitValues[static_cast<uint8_t>(text[i + j])] : 0;
      if (value == kNoDigit) return std::nullopt;
      group = group << 6 | value;
    }
    for (size_t j = 0; j + 1 < digits; ++j) {
      bytes.push_back(static_cast<char>(group >> (16 - 8 * j) & 0xff));
    }
    if (digits < 4 && (group & ((1u << (8 * (4 - digits))) - 1)) != 0) return std::nullopt;
  }
  return bytes;
}

// The length of the sequence that begins here, 0 where none does.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Neither what is shorter otherwise, nor surrogates, nor what lies beyond Unicode.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool NeedsQuote(std::string_view text) {
  if (text.empty()) return false;
  if (text[0] == kQuote || text == kTrue || text == kFalse) return true;
  return MayBeNumber(text) && ValueFromText(text).is_number();
}

Value TextOrBytes(std::string_view text) {
  return IsUtf8(text) ? Value::String(text) : Value::Bytes(text);
}

}  // namespace

void AppendCellText(const Value& value, std::string* out) {
  if (value.type() == ValueType::kBytes) {
    out->push_back(kQuote);
    out->push_back(kBytesMark);
    return AppendBase64(value.AsView(), out);
  }
  if (value.type() != ValueType::kString) return AppendText(value, out);
  if (NeedsQuote(value.AsView())) out->push_back(kQuote);
  out->append(value.AsView());
}

Value ValueOfCellText(std::string_view text, Arena* arena) {
  if (text.empty()) return Value::String(text);
  if (text == kTrue || text == kFalse) return Value::Bool(text == kTrue);
  if (text[0] != kQuote) {
    const Value value = ValueFromText(text);
    return value.is_number() ? value : TextOrBytes(text);
  }
  if (text.size() > 1 && text[1] == kBytesMark) {
    const std::optional<std::string> bytes = FromBase64(text.substr(2));
    return Value::Bytes(bytes ? arena->Copy(*bytes) : text);
  }
  const std::string_view quoted = text.substr(1);
  // A quote that AppendCellText would not have set is a part of what others wrote.
  return TextOrBytes(NeedsQuote(quoted) ? quoted : text);
}

}  // namespace tallyd

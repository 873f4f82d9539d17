#include "ingest/text/json_text.h"

#include <simdjson.h>

#include <algorithm>

namespace tallyd {
namespace {

void AppendEscaped(char c, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      *out += "\\u00";
      out->push_back(kHex[(c >> 4) & 0xf]);
      out->push_back(kHex[c & 0xf]);
  }
}

bool NeedsEscape(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }

void AppendQuoted(std::string_view text, std::string* out) {
  out->push_back('"');
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!NeedsEscape(static_cast<unsigned char>(text[i]))) continue;
    out->append(text, copied, i - copied);
    AppendEscaped(text[i], out);
    copied = i + 1;
  }
  out->append(text, copied);
  out->push_back('"');
}

bool IsUtf8(std::string_view text) {
  const bool ascii = std::none_of(text.begin(), text.end(),
                                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return ascii || simdjson::validate_utf8(text.data(), text.size());
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void AppendBase64Object(std::string_view bytes, std::string* out) {
  *out += "{\"base64\":\"";
  *out += EncodeBase64(bytes);
  *out += "\"}";
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  if (IsUtf8(text)) {
    AppendQuoted(text, out);
  } else {
    AppendBase64Object(text, out);
  }
}

void AppendJsonValue(const Value& value, std::string* out) {
  switch (value.type()) {
    case ValueType::kNull:
      *out += "null";
      return;
    case ValueType::kString:
      AppendJsonString(value.AsView(), out);
      return;
    case ValueType::kBytes:
      AppendBase64Object(value.AsView(), out);
      return;
    case ValueType::kInt64:
    case ValueType::kFloat64:
    case ValueType::kBool:
      AppendText(value, out);
      return;
  }
}

void AppendJsonTime(TimeUs t, std::string* out) { AppendTime(t, kAnswerTimeUnit, out); }

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out.push_back(i + j <= bytes.size() ? kBase64[group >> (18 - 6 * j) & 63] : '=');
    }
  }
  return out;
}

bool DecodeBase64(std::string_view text, std::string* bytes) {
  bytes->clear();
  if (text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i + padding >= text.size();
    const size_t digit = is_padding ? 0 : kBase64.find(text[i]);
    if (digit == std::string_view::npos) return false;
    group = group << 6 | static_cast<uint32_t>(digit);
    if (i % 4 < 3) continue;
    for (const int shift : {16, 8, 0}) bytes->push_back(static_cast<char>(group >> shift));
    group = 0;
  }
  bytes->resize(bytes->size() - padding);
  return true;
}

void AppendJsonName(std::string_view name, std::string* out) {
  if (IsUtf8(name)) {
    AppendQuoted(name, out);
  } else {
    AppendQuoted("base64:" + EncodeBase64(name), out);
  }
}

}  // namespace tallyd

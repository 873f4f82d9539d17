#include <array>

#include "ingest/blob/blob_codec.h"
#include "ingest/decode/json_scalar.h"

namespace tallyd {
namespace {

constexpr std::string_view kBase64Letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBytesName = "base64";

void AppendString(std::string_view text, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out->append("\\u00");
      out->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out->push_back(kHex[c & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void AppendBase64(std::string_view bytes, std::string* out) {
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      out->push_back(k <= count ? kBase64Letters[group >> (18 - 6 * k) & 63] : '=');
    }
  }
}

bool ReadBase64(std::string_view text, std::string* out) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const size_t letter = kBase64Letters.find(c);
    if (letter == std::string_view::npos) return false;
    group = (group << 6 | static_cast<uint32_t>(letter)) & 0xFFFFFF;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out->push_back(static_cast<char>(group >> bits));
    }
  }
  return true;
}

void AppendValue(const Value& value, std::string* out) {
  switch (value.type()) {
    case ValueType::kNull:
      out->append("null");
      break;
    case ValueType::kInt64:
    case ValueType::kFloat64:  // Its text has a point or an exponent.
    case ValueType::kBool:
      AppendText(value, out);
      break;
    case ValueType::kString:
      AppendString(value.AsView(), out);
      break;
    case ValueType::kBytes:
      out->append("{\"base64\":\"");
      AppendBase64(value.AsView(), out);
      out->append("\"}");
      break;
  }
}

class ObjectReader {
 public:
  ObjectReader(std::string_view text, std::string* scratch) : rest_(text), scratch_(scratch) {}

  bool Read(std::vector<BlobField>* fields) {
    if (!Take('{')) return false;
    if (Take('}')) return AtEnd();
    do {
      BlobField field;
      if (!ReadString(&field.name) || !Take(':') || !ReadValue(&field.value)) return false;
      fields->push_back(field);
    } while (Take(','));
    return Take('}') && AtEnd();
  }

 private:
  void SkipSpace() {
    const size_t begin = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(begin, rest_.size()));
  }
  bool Take(char c) {
    SkipSpace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }

  bool ReadString(std::string_view* text) {
    if (!Take('"')) return false;
    size_t close = 0;
    while (close < rest_.size() && rest_[close] != '"') close += rest_[close] == '\\' ? 2 : 1;
    if (close >= rest_.size()) return false;
    const std::string_view raw = rest_.substr(0, close);
    rest_.remove_prefix(close + 1);
    *text = raw;
    if (raw.find('\\') == std::string_view::npos) return true;
    size_t at = 0;
    if (Unescape(raw, &unescaped_, &at) != EscapeFault::kNone) return false;
    *text = Keep(unescaped_);
    return true;
  }

  bool ReadValue(Value* value) {
    SkipSpace();
    if (rest_.starts_with('"')) {
      std::string_view text;
      if (!ReadString(&text)) return false;
      *value = Value::String(text);
      return true;
    }
    if (rest_.starts_with('{')) return ReadBytes(value);
    size_t size = 0;
    while (size < rest_.size() && !IsJsonDelimiter(rest_[size])) ++size;
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (word == "true" || word == "false") {
      *value = Value::Bool(word == "true");
      return true;
    }
    return word == "null" || ReadNumber(word, value) == NumberFault::kNone;
  }

  bool ReadBytes(Value* value) {
    std::string_view name;
    std::string_view text;
    if (!Take('{') || !ReadString(&name) || name != kBytesName || !Take(':') ||
        !ReadString(&text) || !Take('}')) {
      return false;
    }
    unescaped_.clear();
    if (!ReadBase64(text, &unescaped_)) return false;
    *value = Value::Bytes(Keep(unescaped_));
    return true;
  }

  std::string_view Keep(std::string_view text) {
    const size_t begin = scratch_->size();
    scratch_->append(text);
    return std::string_view(*scratch_).substr(begin);
  }

  std::string_view rest_;
  std::string* const scratch_;
  std::string unescaped_;
};

}  // namespace

void EncodeJson(std::span<const BlobField> fields, std::string* out) {
  out->push_back('{');
  for (const BlobField& field : fields) {
    if (out->back() != '{') out->push_back(',');
    AppendString(field.name, out);
    out->push_back(':');
    AppendValue(field.value, out);
  }
  out->push_back('}');
}

bool DecodeJson(std::string_view blob, std::string* scratch, std::vector<BlobField>* fields) {
  return ObjectReader(blob, scratch).Read(fields);
}

}  // namespace tallyd

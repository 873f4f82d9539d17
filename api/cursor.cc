// cursor :=
//    version: byte (1)
//    hash of the query: fixed64
//    fields: fixed64 | fixed32 length, bytes     as the query's kind says
// All little-endian, then base64url without padding.
#include "api/cursor.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

constexpr char kVersion = 1;
constexpr size_t kMaxCursorText = 16u << 10;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void PutFixed(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

std::optional<uint64_t> GetFixed(std::string_view from, size_t at, size_t bytes) {
  if (from.size() < bytes || at > from.size() - bytes) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(from[at + i])) << (8 * i);
  }
  return value;
}

std::string EncodeBase64Url(std::string_view bytes) {
  std::string out;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = (bits << 8 | static_cast<unsigned char>(c)) & 0xffff;
    for (count += 8; count >= 6; count -= 6) out.push_back(kDigits[bits >> (count - 6) & 63]);
  }
  if (count > 0) out.push_back(kDigits[bits << (6 - count) & 63]);
  return out;
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(bits >> count & 0xff));
    }
  }
  return out;
}

void PutText(std::string_view text, std::string* out) {
  PutFixed(text.size(), 4, out);
  out->append(text);
}

}  // namespace

uint64_t HashOfQuery(std::string_view route, std::string_view subject, const Params& params) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& pair : params.all()) {
    const bool pages_only = pair.first == "cursor" || pair.first == "limit" ||
                            pair.first == "format" || pair.first == "raw";
    if (!pages_only) pairs.push_back(pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  PutText(route, &text);
  PutText(subject, &text);
  for (const auto& [name, value] : pairs) {
    PutText(name, &text);
    PutText(value, &text);
  }
  return XXH64(text.data(), text.size(), 0);
}

CursorWriter::CursorWriter(uint64_t query_hash) {
  bytes_.push_back(kVersion);
  PutFixed(query_hash, 8, &bytes_);
}

void CursorWriter::AddInt(int64_t value) { PutFixed(static_cast<uint64_t>(value), 8, &bytes_); }

void CursorWriter::AddText(std::string_view text) { PutText(text, &bytes_); }

std::string CursorWriter::Finish() const { return EncodeBase64Url(bytes_); }

Result<CursorReader> CursorReader::Open(std::string_view cursor, uint64_t query_hash) {
  if (cursor.size() > kMaxCursorText) return BadCursor();
  std::optional<std::string> bytes = DecodeBase64Url(cursor);
  if (!bytes || bytes->empty() || bytes->front() != kVersion) return BadCursor();
  const std::optional<uint64_t> hash = GetFixed(*bytes, 1, 8);
  if (!hash) return BadCursor();
  if (*hash != query_hash) {
    return Invalid(
        "cursor: it belongs to another query; repeat the query that gave it, with the same "
        "parameters");
  }
  CursorReader reader;
  reader.bytes_ = std::move(*bytes);
  reader.at_ = 9;
  return reader;
}

bool CursorReader::TakeInt(int64_t* value) {
  const std::optional<uint64_t> taken = GetFixed(bytes_, at_, 8);
  if (!taken) return false;
  *value = static_cast<int64_t>(*taken);
  at_ += 8;
  return true;
}

bool CursorReader::TakeText(std::string* text) {
  const std::optional<uint64_t> size = GetFixed(bytes_, at_, 4);
  if (!size || *size > bytes_.size() - at_ - 4) return false;
  text->assign(bytes_, at_ + 4, *size);
  at_ += 4 + *size;
  return true;
}

Error BadCursor() { return Invalid("cursor: it is none that an answer of this daemon gave"); }

}  // namespace tallyd

#include "ingest/decode/decode.h"

#include <algorithm>
#include <iterator>

#include "ingest/decode/csv_body.h"
#include "ingest/decode/json_body.h"

namespace tallyd {
namespace {

// What curl sends, unless it is told otherwise, is JSON, too.
constexpr std::string_view kJsonTypes[] = {"application/json", "text/json",
                                           "application/x-www-form-urlencoded", ""};
constexpr std::string_view kNdjsonTypes[] = {"application/x-ndjson", "application/ndjson",
                                             "application/jsonlines", "application/json-lines"};
constexpr std::string_view kCsvTypes[] = {"text/csv"};

const BodyFormat kFormats[] = {
    {kJsonTypes, MakeJsonBody},
    {kNdjsonTypes, MakeNdjsonBody},
    {kCsvTypes, MakeCsvBody},
};

// Some senders begin with a byte order mark; RFC 8259 section 8.1 lets a reader ignore it.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Without the parameters.
std::string MediaType(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.starts_with(' ')) type.remove_prefix(1);
  while (type.ends_with(' ')) type.remove_suffix(1);
  std::string lower(type);
  std::ranges::transform(lower, lower.begin(), ToLower);
  return lower;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Whether the body may be read as what its type's parameters say: text is UTF-8 here, and the first
// line of a CSV body is its header (RFC 4180, section 3). Others say nothing of how to read it.
bool ReadsParameters(std::string_view content_type) {
  size_t at = content_type.find(';');
  while (at != content_type.npos) {
    const size_t end = content_type.find(';', at + 1);
    std::string parameter(Trimmed(content_type.substr(at + 1, end - at - 1)));
    std::ranges::transform(parameter, parameter.begin(), ToLower);
    std::erase(parameter, '"');
    if (parameter == "header=absent") return false;
    const bool is_charset = parameter.starts_with("charset=");
    if (is_charset && parameter != "charset=utf-8" && parameter != "charset=us-ascii") return false;
    at = end;
  }
  return true;
}

}  // namespace

const BodyFormat* FindBodyFormat(std::string_view content_type) {
  if (!ReadsParameters(content_type)) return nullptr;
  const std::string type = MediaType(content_type);
  const auto* found = std::ranges::find_if(kFormats, [&](const BodyFormat& format) {
    return std::ranges::find(format.media_types, type) != format.media_types.end();
  });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string BodyMediaTypes() {
  std::string types;
  for (const BodyFormat& format : kFormats) {
    types.append(types.empty() ? "" : ", ").append(format.media_types.front());
  }
  return types;
}

Status EventDecoder::Decode(const BodyFormat& format, std::string_view body, ShapeRegistry& shapes,
                            EventBatch* batch) {
  batch->Clear();
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
  decoders_.resize(std::size(kFormats));
  std::unique_ptr<BodyDecoder>& decoder = decoders_[static_cast<size_t>(&format - kFormats)];
  if (!decoder) decoder = format.make();
  return decoder->Decode(body, shapes, batch);
}

size_t EventDecoder::bytes() const {
  size_t bytes = 0;
  for (const auto& decoder : decoders_) bytes += decoder ? decoder->bytes() : 0;
  return bytes;
}

}  // namespace tallyd

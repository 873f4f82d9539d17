#include "api/answer.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace tallyd {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<AnswerFormat> FormatOfMediaType(std::string_view type) {
  if (type == "application/json") return AnswerFormat::kJson;
  if (type == "application/x-ndjson" || type == "application/ndjson") return AnswerFormat::kNdjson;
  if (type == "text/csv") return AnswerFormat::kCsv;
  return std::nullopt;
}

// Gives the chunk that was pulled before, then what follows.
class PrimedSource final : public BodySource {
 public:
  PrimedSource(std::string first, std::unique_ptr<BodySource> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  Result<bool> Next(std::string* chunk) override {
    if (first_.empty()) return rest_->Next(chunk);
    chunk->append(first_);
    std::string().swap(first_);
    return true;
  }

 private:
  std::string first_;
  std::unique_ptr<BodySource> rest_;
};

}  // namespace

Result<AnswerFormat> ChooseFormat(const Request& request) {
  if (const auto named = request.params.Get("format")) {
    if (*named == "json") return AnswerFormat::kJson;
    if (*named == "ndjson") return AnswerFormat::kNdjson;
    if (*named == "csv") return AnswerFormat::kCsv;
    return Invalid("format: '" + std::string(*named) + "' is none of json, ndjson, csv");
  }
  std::string_view accept = request.accept;
  while (!accept.empty()) {
    const size_t comma = std::min(accept.find(','), accept.size());
    const std::string_view item = accept.substr(0, comma);
    const std::string type = Lower(Trim(item.substr(0, item.find(';'))));
    if (const auto format = FormatOfMediaType(type)) return *format;
    accept.remove_prefix(std::min(comma + 1, accept.size()));
  }
  return AnswerFormat::kJson;
}

std::string_view ContentTypeOf(AnswerFormat format) {
  switch (format) {
    case AnswerFormat::kJson:
      return "application/json";
    case AnswerFormat::kNdjson:
      return "application/x-ndjson";
    case AnswerFormat::kCsv:
      return "text/csv; charset=utf-8; header=present";
  }
  return "";
}

Response StartBody(std::string_view content_type, std::unique_ptr<BodySource> source) {
  Response response;
  response.content_type = content_type;
  std::string first;
  const Result<bool> more = source->Next(&first);
  if (!more) return ProblemOf(more.error());
  if (*more) {
    response.source = std::make_unique<PrimedSource>(std::move(first), std::move(source));
  } else {
    response.body = std::move(first);
  }
  return response;
}

std::string NextLink(const Request& request, std::string_view cursor) {
  std::string link = "<" + request.path + "?";
  std::string_view query = request.query;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (!pair.empty() && pair.substr(0, pair.find('=')) != "cursor") {
      link.append(pair).push_back('&');
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  link.append("cursor=").append(cursor).append(">; rel=\"next\"");
  return link;
}

void AppendCsvText(std::string_view text, std::string* out) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == text.npos) {
    out->append(text);
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

}  // namespace tallyd

#include "api/answer.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "api/preference.h"

namespace tallyd {
namespace {

constexpr std::array kFormats = {AnswerFormat::kJson, AnswerFormat::kNdjson, AnswerFormat::kCsv};

// How closely a member of Accept names a format; 0: not at all.
int Closeness(std::string_view range, AnswerFormat format) {
  const std::string_view main = format == AnswerFormat::kCsv ? "text/*" : "application/*";
  if (range == "*/*") return 1;
  if (range == main) return 2;
  switch (format) {
    case AnswerFormat::kJson:
      return range == "application/json" ? 3 : 0;
    case AnswerFormat::kNdjson:
      return range == "application/x-ndjson" || range == "application/ndjson" ? 3 : 0;
    case AnswerFormat::kCsv:
      return range == "text/csv" ? 3 : 0;
  }
  return 0;
}

// What Accept says of a format, by the member that names it most closely.
struct Wish {
  int weight = 0;
  int closeness = 0;
  size_t place = 0;

  bool IsBefore(const Wish& other) const {
    return std::tuple(-weight, -closeness, place) <
           std::tuple(-other.weight, -other.closeness, other.place);
  }
};

Wish WishFor(AnswerFormat format, const std::vector<Preference>& accepted) {
  Wish wish;
  for (size_t i = 0; i < accepted.size(); ++i) {
    const int closeness = Closeness(accepted[i].name, format);
    if (closeness > wish.closeness) wish = {accepted[i].weight, closeness, i};
  }
  return wish;
}

}  // namespace

Result<AnswerFormat> ChooseFormat(const Request& request) {
  if (const auto named = request.params.Get("format")) {
    if (*named == "json") return AnswerFormat::kJson;
    if (*named == "ndjson") return AnswerFormat::kNdjson;
    if (*named == "csv") return AnswerFormat::kCsv;
    return Invalid("format: '" + std::string(*named) + "' is none of json, ndjson, csv");
  }
  const std::vector<Preference> accepted = ParsePreferences(request.accept);
  AnswerFormat chosen = AnswerFormat::kJson;
  Wish best;
  for (const AnswerFormat format : kFormats) {
    const Wish wish = WishFor(format, accepted);
    if (wish.weight == 0 || !wish.IsBefore(best)) continue;
    chosen = format;
    best = wish;
  }
  return chosen;
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

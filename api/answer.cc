#include "api/answer.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "api/preference.h"

namespace tallyd {
namespace {

// How closely a member of Accept names a media type; 0: not at all.
int Closeness(std::string_view range, std::string_view media_type) {
  if (media_type.empty()) return 0;
  if (range == "*/*") return 1;
  const size_t main_size = media_type.find('/') + 1;
  if (range.ends_with("/*") &&
      range.substr(0, range.size() - 1) == media_type.substr(0, main_size)) {
    return 2;
  }
  return range == media_type ? 3 : 0;
}

int Closeness(std::string_view range, const AnswerFormatInfo& format) {
  return std::max(Closeness(range, format.media_types[0]), Closeness(range, format.media_types[1]));
}

std::string Names() {
  std::string names;
  for (const AnswerFormatInfo& format : kAnswerFormats) {
    names.append(names.empty() ? "" : ", ").append(format.name);
  }
  return names;
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

Wish WishFor(const AnswerFormatInfo& format, const std::vector<Preference>& accepted) {
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
    for (const AnswerFormatInfo& format : kAnswerFormats) {
      if (*named == format.name) return format.format;
    }
    return Invalid("format: '" + std::string(*named) + "' is none of " + Names());
  }
  const std::vector<Preference> accepted = ParsePreferences(request.accept);
  AnswerFormat chosen = AnswerFormat::kJson;
  Wish best;
  for (const AnswerFormatInfo& format : kAnswerFormats) {
    const Wish wish = WishFor(format, accepted);
    if (wish.weight == 0 || !wish.IsBefore(best)) continue;
    chosen = format.format;
    best = wish;
  }
  return chosen;
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

}  // namespace tallyd

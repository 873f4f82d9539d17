// Metrics with tags as OpenTSDB's query strings spell them, and the names that its answers have for
// whole series:
//
//   sys.cpu.user{host=web*,dc=literal_or(lga|sjc)}{rack=not_literal_or(r1)}
//
// The tags of the first braces group, those of the second do not. A TSUID is the hexadecimal text
// of metric and tags, so that one that was told can be asked for.
#ifndef TALLYD_API_OPENTSDB_METRIC_TEXT_H_
#define TALLYD_API_OPENTSDB_METRIC_TEXT_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "service/points/series_question.h"

namespace tallyd {

struct TagFilterName {
  std::string_view name;
  TagMatch match;
  std::string_view example;
  std::string_view description;
};

inline constexpr std::array<TagFilterName, 8> kTagFilterNames = {{
    {"iliteral_or", TagMatch::kOneOfAnyCase, "host=iliteral_or(web01|web02)",
     "Tag values that are one of these, but for the case of letters."},
    {"iwildcard", TagMatch::kWildcardAnyCase, "host=iwildcard(web*.lga)",
     "Tag values in which each asterisk is any text, but for the case of letters."},
    {"literal_or", TagMatch::kOneOf, "host=literal_or(web01|web02)",
     "Tag values that are one of these."},
    {"not_iliteral_or", TagMatch::kNoneOfAnyCase, "host=not_iliteral_or(web01|web02)",
     "Tag values that are none of these, but for the case of letters."},
    {"not_key", TagMatch::kAbsent, "host=not_key()", "Series that do not have the tag."},
    {"not_literal_or", TagMatch::kNoneOf, "host=not_literal_or(web01|web02)",
     "Tag values that are none of these."},
    {"regexp", TagMatch::kRegexp, "host=regexp(web[0-9]+)",
     "Tag values of which some part matches the expression, in RE2's syntax."},
    {"wildcard", TagMatch::kWildcard, "host=wildcard(web*.lga)",
     "Tag values in which each asterisk is any text."},
}};

std::string_view NameOf(TagMatch match);
// "web01|web02": what stands between the parentheses.
std::string TextOf(const TagFilter& filter);

// kInvalid: the type is none, or its text is not as it must be.
Result<TagFilter> ParseTypedFilter(std::string_view type, std::string_view tag,
                                   std::string_view text);
// As a tag's value has it: "*", "a|b", "web*", "literal_or(a|b)", or the value.
Result<TagFilter> ParseTagValue(std::string_view tag, std::string_view value);

struct MetricText {
  std::string metric;
  std::vector<TagFilter> filters;
};
Result<MetricText> ParseMetricText(std::string_view text);

struct SeriesName {
  std::string metric;
  SeriesTags tags;
};
// Of equal names alone the same, whatever bytes they hold.
std::string EncodeTsuid(const SeriesName& name);
// Nothing: it is none.
std::optional<SeriesName> DecodeTsuid(std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_METRIC_TEXT_H_

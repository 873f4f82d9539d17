#include "api/opentsdb/metric_text.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr size_t kMostValues = 10'000;  // Of one filter.

std::string Quoted(std::string_view text) { return "'" + std::string(text.substr(0, 100)) + "'"; }

std::vector<std::string> Split(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(between);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool HasList(TagMatch match) {
  return match == TagMatch::kOneOf || match == TagMatch::kOneOfAnyCase ||
         match == TagMatch::kNoneOf || match == TagMatch::kNoneOfAnyCase;
}

// "k=v,k=fn(a,b)", by the commas outside of parentheses.
Status ParseTags(std::string_view text, bool groups, std::vector<TagFilter>* filters) {
  while (!text.empty()) {
    size_t end = 0;
    int depth = 0;
    for (; end < text.size() && (text[end] != ',' || depth > 0); ++end) {
      if (text[end] == '(') ++depth;
      if (text[end] == ')' && depth > 0) --depth;
    }
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0 || equals + 1 == pair.size()) {
      return Invalid("invalid tag: " + Quoted(pair) + " is not NAME=VALUE");
    }
    Result<TagFilter> filter = ParseTagValue(pair.substr(0, equals), pair.substr(equals + 1));
    if (!filter) return filter.error();
    filter->groups = groups;
    filters->push_back(std::move(*filter));
  }
  return {};
}

// Takes "{...}" off the text, with braces inside of it.
std::optional<std::string_view> TakeBraces(std::string_view* text) {
  if (!text->starts_with('{')) return std::nullopt;
  int depth = 0;
  for (size_t i = 0; i < text->size(); ++i) {
    if ((*text)[i] == '{') ++depth;
    if ((*text)[i] == '}') --depth;
    if (depth > 0) continue;
    const std::string_view inside = text->substr(1, i - 1);
    text->remove_prefix(i + 1);
    return inside;
  }
  return std::nullopt;
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Within a TSUID a zero byte ends a text; of a text, zeros and the byte that escapes are escaped.
constexpr char kEscape = '\1';
constexpr char kEscapedZero = '\1';
constexpr char kEscapedEscape = '\2';

void AppendEscaped(std::string_view text, std::string* bytes) {
  for (const char c : text) {
    if (c != '\0' && c != kEscape) {
      bytes->push_back(c);
      continue;
    }
    bytes->push_back(kEscape);
    bytes->push_back(c == '\0' ? kEscapedZero : kEscapedEscape);
  }
}

// False: an escape stands before what it does not escape.
bool Unescape(std::string* text) {
  size_t size = 0;
  for (size_t i = 0; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == kEscape) {
      if (++i == text->size()) return false;
      const char escaped = (*text)[i];
      if (escaped != kEscapedZero && escaped != kEscapedEscape) return false;
      c = escaped == kEscapedZero ? '\0' : kEscape;
    }
    (*text)[size++] = c;
  }
  text->resize(size);
  return true;
}

}  // namespace

std::string_view NameOf(TagMatch match) {
  return std::ranges::find(kTagFilterNames, match, &TagFilterName::match)->name;
}

std::string TextOf(const TagFilter& filter) {
  std::string text;
  for (const std::string& value : filter.values) {
    text.append(&value == filter.values.data() ? "" : "|").append(value);
  }
  return text;
}

Result<TagFilter> ParseTypedFilter(std::string_view type, std::string_view tag,
                                   std::string_view text) {
  const auto known = std::ranges::find(kTagFilterNames, type, &TagFilterName::name);
  if (known == kTagFilterNames.end()) {
    return Invalid("Unable to find a tag value filter of type " + Quoted(type) +
                   "; /api/config/filters lists them");
  }
  TagFilter filter{std::string(tag), known->match, {}};
  if (tag.empty()) return Invalid("a filter names no tag");
  if (known->match == TagMatch::kAbsent) {
    if (!text.empty()) return Invalid("not_key: the filter must be empty");
    return filter;
  }
  if (text.empty()) return Invalid("the filter for tag " + Quoted(tag) + " is empty");
  const bool is_wildcard =
      known->match == TagMatch::kWildcard || known->match == TagMatch::kWildcardAnyCase;
  if (is_wildcard && text.find('*') == text.npos) {
    return Invalid("the filter for tag " + Quoted(tag) + " must contain an asterisk");
  }
  filter.values = HasList(known->match) ? Split(text, '|') : std::vector{std::string(text)};
  if (filter.values.size() > kMostValues) {
    return Invalid("the filter for tag " + Quoted(tag) + " has more than " +
                   std::to_string(kMostValues) + " values");
  }
  const Result<TagMatcher> usable = TagMatcher::Make(filter);
  if (!usable) return usable.error();
  return filter;
}

Result<TagFilter> ParseTagValue(std::string_view tag, std::string_view value) {
  const size_t paren = value.find('(');
  if (paren != value.npos && value.ends_with(')')) {
    return ParseTypedFilter(value.substr(0, paren), tag,
                            value.substr(paren + 1, value.size() - paren - 2));
  }
  if (value == "*") return ParseTypedFilter("wildcard", tag, value);
  // As OpenTSDB has it, which is the short form without case.
  if (value.find('*') != value.npos) return ParseTypedFilter("iwildcard", tag, value);
  return ParseTypedFilter("literal_or", tag, value);
}

Result<MetricText> ParseMetricText(std::string_view text) {
  MetricText parsed;
  const size_t brace = std::min(text.find('{'), text.size());
  parsed.metric = text.substr(0, brace);
  if (parsed.metric.empty()) return Invalid("Missing the metric name");
  std::string_view rest = text.substr(brace);
  for (const bool groups : {true, false}) {
    if (rest.empty()) break;
    const auto inside = TakeBraces(&rest);
    if (!inside) return Invalid("Missing '}' in " + Quoted(text));
    if (Status status = ParseTags(*inside, groups, &parsed.filters); !status) return status.error();
  }
  if (!rest.empty()) return Invalid("something follows the tags of " + Quoted(text));
  return parsed;
}

std::string EncodeTsuid(const SeriesName& name) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string bytes;
  AppendEscaped(name.metric, &bytes);
  for (const auto& [tag, value] : name.tags) {
    bytes.push_back('\0');
    AppendEscaped(tag, &bytes);
    bytes.push_back('\0');
    AppendEscaped(value, &bytes);
  }
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::optional<SeriesName> DecodeTsuid(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = DigitOf(text[i]);
    const int low = DigitOf(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  std::vector<std::string> parts = Split(bytes, '\0');
  if (text.size() % 2 != 0 || parts.size() % 2 == 0 || parts.front().empty()) return std::nullopt;
  if (!std::ranges::all_of(parts, [](std::string& part) { return Unescape(&part); })) {
    return std::nullopt;
  }
  SeriesName name{parts.front(), {}};
  for (size_t i = 1; i < parts.size(); i += 2) name.tags.emplace_back(parts[i], parts[i + 1]);
  return name;
}

}  // namespace tallyd

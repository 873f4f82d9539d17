#include "service/points/tag_filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kMostExpressionBytes = 4096;
constexpr int64_t kExpressionMemory = 1 << 20;

bool IgnoresCase(TagMatch match) {
  return match == TagMatch::kOneOfAnyCase || match == TagMatch::kNoneOfAnyCase ||
         match == TagMatch::kWildcardAnyCase;
}

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

// Only '*' is special. Each run is the shortest that lets the rest match, and the last star found
// takes more where it does not: no pattern costs more than the product of both sizes.
bool WildcardMatches(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  size_t in_text = 0;
  size_t star = pattern.npos;
  size_t behind_star = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      behind_star = in_text;
    } else if (at < pattern.size() && pattern[at] == text[in_text]) {
      ++at;
      ++in_text;
    } else if (star != pattern.npos) {
      at = star + 1;
      in_text = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == pattern.npos;
}

}  // namespace

struct TagMatcher::Expression {
  explicit Expression(const std::string& text) : re(text, Options()) {}

  static RE2::Options Options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kExpressionMemory);
    return options;
  }

  RE2 re;
};

TagMatcher::TagMatcher(const TagFilter& filter) : match_(filter.match) {
  for (const std::string& value : filter.values) {
    values_.push_back(IgnoresCase(match_) ? Lowered(value) : value);
  }
}
TagMatcher::TagMatcher(TagMatcher&&) noexcept = default;
TagMatcher& TagMatcher::operator=(TagMatcher&&) noexcept = default;
TagMatcher::~TagMatcher() = default;

Result<TagMatcher> TagMatcher::Make(const TagFilter& filter) {
  TagMatcher matcher(filter);
  if (filter.match != TagMatch::kRegexp) return matcher;
  const std::string& text = matcher.values_.front();
  if (text.size() > kMostExpressionBytes) {
    return Invalid("the regular expression for tag '" + filter.tag + "' is longer than " +
                   std::to_string(kMostExpressionBytes) + " bytes");
  }
  matcher.expression_ = std::make_unique<Expression>(text);
  if (!matcher.expression_->re.ok()) {
    return Invalid("the regular expression for tag '" + filter.tag +
                   "' cannot be used: " + matcher.expression_->re.error() +
                   " (the syntax is RE2's, without look-around and back references)");
  }
  return matcher;
}

bool TagMatcher::Wants(std::optional<std::string_view> value) const {
  if (match_ == TagMatch::kAbsent) return !value;
  return value && Matches(*value);
}

bool TagMatcher::Matches(std::string_view value) const {
  const auto is_listed = [this](std::string_view text) {
    return std::ranges::find(values_, text) != values_.end();
  };
  switch (match_) {
    case TagMatch::kOneOf:
      return is_listed(value);
    case TagMatch::kOneOfAnyCase:
      return is_listed(Lowered(value));
    case TagMatch::kNoneOf:
      return !is_listed(value);
    case TagMatch::kNoneOfAnyCase:
      return !is_listed(Lowered(value));
    case TagMatch::kWildcard:
      return WildcardMatches(values_.front(), value);
    case TagMatch::kWildcardAnyCase:
      return WildcardMatches(values_.front(), Lowered(value));
    case TagMatch::kRegexp:
      return RE2::PartialMatch(re2::StringPiece(value.data(), value.size()), expression_->re);
    case TagMatch::kAbsent:
      return false;
  }
  return false;
}

}  // namespace tallyd

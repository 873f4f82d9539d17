// TagFilter: which series are wanted by one of their tags. A series without the tag is none that a
// filter wants, but for kAbsent, which wants no other.
#ifndef TALLYD_SERVICE_POINTS_TAG_FILTER_H_
#define TALLYD_SERVICE_POINTS_TAG_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

enum class TagMatch : uint8_t {
  kOneOf,         // The value is one of `values`.
  kOneOfAnyCase,  // ... but for the case of ASCII letters.
  kNoneOf,
  kNoneOfAnyCase,
  kWildcard,  // `values` has one text, in which '*' is any run of bytes.
  kWildcardAnyCase,
  kRegexp,  // `values` has one regular expression, which some part of the value matches.
  kAbsent,  // The series has no such tag.
};

struct TagFilter {
  std::string tag;
  TagMatch match = TagMatch::kOneOf;
  std::vector<std::string> values;
  bool groups = false;  // Series with other values of the tag are not joined.

  friend bool operator==(const TagFilter&, const TagFilter&) = default;
};

// Judges tags by one filter. The expressions are those of RE2, whose time is bounded by the sizes
// of expression and text, whatever they are. Not thread-safe.
class TagMatcher {
 public:
  // kInvalid: the expression is none, or too large.
  static Result<TagMatcher> Make(const TagFilter& filter);
  TagMatcher(TagMatcher&&) noexcept;
  TagMatcher& operator=(TagMatcher&&) noexcept;
  ~TagMatcher();

  // Of the tag's value; nothing: the series does not have the tag.
  bool Wants(std::optional<std::string_view> value) const;

 private:
  struct Expression;

  explicit TagMatcher(const TagFilter& filter);
  bool Matches(std::string_view value) const;

  TagMatch match_;
  std::vector<std::string> values_;  // In lower case, where case does not count.
  std::unique_ptr<Expression> expression_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_TAG_FILTER_H_

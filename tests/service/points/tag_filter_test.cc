#include "service/points/tag_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

bool Wants(TagMatch match, std::vector<std::string> values, std::optional<std::string_view> tag) {
  return TagMatcher::Make({"host", match, std::move(values)}).value().Wants(tag);
}

TEST(TagFilterTest, LiteralsAreWholeValues) {
  EXPECT_TRUE(Wants(TagMatch::kOneOf, {"a", "b"}, "b"));
  EXPECT_FALSE(Wants(TagMatch::kOneOf, {"a", "b"}, "B"));
  EXPECT_TRUE(Wants(TagMatch::kOneOfAnyCase, {"A", "b"}, "a"));
  EXPECT_FALSE(Wants(TagMatch::kOneOf, {"a"}, "ab"));
}

TEST(TagFilterTest, AWildcardIsAnyRunOfBytes) {
  EXPECT_TRUE(Wants(TagMatch::kWildcard, {"web*.lga"}, "web01.lga"));
  EXPECT_TRUE(Wants(TagMatch::kWildcard, {"*a*b*"}, "xaxxbx"));
  EXPECT_TRUE(Wants(TagMatch::kWildcard, {"*"}, ""));
  EXPECT_FALSE(Wants(TagMatch::kWildcard, {"web*.lga"}, "web01.lga.x"));
  EXPECT_FALSE(Wants(TagMatch::kWildcard, {"w?b*"}, "web"));
  EXPECT_TRUE(Wants(TagMatch::kWildcardAnyCase, {"WEB*"}, "web01"));
}

TEST(TagFilterTest, ManyStarsCostNoMoreThanTheProductOfBothSizes) {
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "a*";
  EXPECT_FALSE(Wants(TagMatch::kWildcard, {stars + "b"}, std::string(20'000, 'a')));
}

TEST(TagFilterTest, ARegularExpressionMatchesSomePart) {
  EXPECT_TRUE(Wants(TagMatch::kRegexp, {"b[0-9]+"}, "web01.lga"));
  EXPECT_FALSE(Wants(TagMatch::kRegexp, {"^b[0-9]+"}, "web01.lga"));
  EXPECT_FALSE(Wants(TagMatch::kRegexp, {"(a*)*$b"}, std::string(20'000, 'a')));
}

TEST(TagFilterTest, AnExpressionThatIsNoneIsRefusedByItsTag) {
  const auto refused = TagMatcher::Make({"host", TagMatch::kRegexp, {"(a"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("'host'"), std::string::npos);
  EXPECT_FALSE(TagMatcher::Make({"host", TagMatch::kRegexp, {"(?=a)"}}));
  EXPECT_FALSE(TagMatcher::Make({"host", TagMatch::kRegexp, {std::string(5000, 'a')}}));
}

TEST(TagFilterTest, WithoutTheTagOnlyItsAbsenceMatches) {
  EXPECT_FALSE(Wants(TagMatch::kNoneOf, {"a"}, std::nullopt));
  EXPECT_FALSE(Wants(TagMatch::kWildcard, {"*"}, std::nullopt));
  EXPECT_TRUE(Wants(TagMatch::kAbsent, {}, std::nullopt));
  EXPECT_FALSE(Wants(TagMatch::kAbsent, {}, "a"));
  EXPECT_TRUE(Wants(TagMatch::kNoneOf, {"a"}, "b"));
  EXPECT_FALSE(Wants(TagMatch::kNoneOfAnyCase, {"a"}, "A"));
}

}  // namespace
}  // namespace tallyd

#include "config/schema/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

using ::testing::HasSubstr;

Spec ParsedSpec(std::string_view text) { return ParseSpec(text).value(); }

TEST(SpecTest, ParsesCounts) {
  EXPECT_EQ(ParsedSpec("").kind, SpecKind::kText);
  EXPECT_EQ(ParsedSpec("zero(10)").n, 10u);
  EXPECT_EQ(ParsedSpec("pad(6)").kind, SpecKind::kPad);
  EXPECT_EQ(ParsedSpec("salt(3)").n, 3u);
  EXPECT_EQ(ParsedSpec("bucket(30m)").bucket_us, 1'800'000'000);
}

TEST(SpecTest, ACalendarBucketIsShortForAFormat) {
  EXPECT_EQ(ParsedSpec("minute"), ParsedSpec("%Y%m%d%H%M"));
  EXPECT_EQ(ParsedSpec("week"), ParsedSpec("%Gw%V"));
  EXPECT_EQ(ParsedSpec("month"), ParsedSpec("%Y%m"));
  EXPECT_EQ(ParsedSpec("year"), ParsedSpec("%Y"));
}

TEST(SpecTest, RefusesWhatItCannotRender) {
  struct Row {
    std::string_view spec, message;
  };
  constexpr Row kRows[] = {
      {"zeros(10)", "accepted are ms, s, us, reverse(ms), minute, hour"},
      {"zeros(10)", "zero(n), pad(n), salt(n), bucket(30m), a strftime format"},
      {"zero", "accepted are"},
      {"zero(", "accepted are"},
      {"MS", "accepted are"},
      {"reverse(us)", "accepted are"},
      {"zero()", "from 1 to 1024"},
      {"zero(0)", "from 1 to 1024"},
      {"pad(-1)", "from 1 to 1024"},
      {"pad(1025)", "from 1 to 1024"},
      {"salt(0)", "from 1 to 10000"},
      {"salt(99999999999999999999)", "from 1 to 10000"},
      {"bucket(7m)", "divides a day"},
      {"bucket(36h)", "divides a day"},
      {"bucket(0m)", "bucket(0m)"},
      {"bucket(x)", "bucket(x)"},
      {"%Q", "accepted are %Y %m"},
      {"%Y%", "accepted are %Y %m"},
      {"%-m", "accepted are %Y %m"},
      {"%%", "tells no time"},
      {"%-d%H", "after %-d"},
      {"%-d1", "after %-d"},
  };
  for (const Row& row : kRows) {
    const Result<Spec> spec = ParseSpec(row.spec);
    ASSERT_FALSE(spec) << row.spec;
    EXPECT_THAT(spec.error().message(), HasSubstr(row.message)) << row.spec;
  }
}

// What the row of a spec's kind says, as one reads it out.
std::string Sentence(const SpecKindInfo& info) {
  std::string text = "gives back ";
  switch (info.gives_back) {
    case GivesBack::kNothing:
      text += "nothing";
      break;
    case GivesBack::kPeriod:
      text += "a period";
      break;
    case GivesBack::kValueOfKeys:
      text += "the value of a key";
      break;
    case GivesBack::kValue:
      text += "the value";
      break;
  }
  if (info.is_as_is) text += ", as it is";
  if (info.padding == Padding::kZerosBefore) text += ", behind zeros";
  if (info.padding == Padding::kSpacesBehind) text += ", before spaces";
  if (info.is_salt) text += ", salts";
  if (info.scatters) text += ", scatters";
  if (info.joins_domains) text += ", joins domains";
  if (info.is_calendar) text += ", by a calendar";
  if (info.descends) text += ", descending";
  if (info.digits > 0) {
    text +=
        ", " + std::to_string(info.digits) + " digits of " + std::to_string(info.digit_us) + " us";
  }
  return text;
}

TEST(SpecTest, TheRowOfItsKindTellsWhatItIsLike) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "gives back the value, as it is"},
      {"zero(6)", "gives back the value, behind zeros"},
      {"pad(6)", "gives back the value, before spaces"},
      {"ms", "gives back a period, 13 digits of 1000 us"},
      {"s", "gives back a period, 10 digits of 1000000 us"},
      {"us", "gives back a period, 16 digits of 1 us"},
      {"reverse(ms)", "gives back a period, descending, 19 digits of 1000 us"},
      {"bucket(30m)", "gives back a period, 13 digits of 1000 us"},
      {"%H%M", "gives back a period, by a calendar"},
      {"reverse_domain", "gives back the value of a key, joins domains"},
      {"reverse_digits", "gives back the value of a key, scatters"},
      {"salt(9)", "gives back nothing, salts, scatters"},
  };
  EXPECT_EQ(rows.size(), kSpecKinds.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [text, sentence] = rows[i];
    EXPECT_EQ(&ParsedSpec(text).info(), &kSpecKinds.at(i)) << text;
    EXPECT_EQ(Sentence(ParsedSpec(text).info()), sentence) << text;
  }
}

TEST(SpecTest, ATimeOfDigitsSortsAndBoundsTime) {
  for (const char* text : {"ms", "s", "us", "reverse(ms)", "bucket(30m)"}) {
    const Spec spec = ParsedSpec(text);
    EXPECT_TRUE(spec.is_time() && spec.sorts_by_time && spec.bounds_time) << text;
    EXPECT_EQ(FixedWidth(spec), spec.info().digits) << text;
  }
}

TEST(SpecTest, TheWidthOfAPaddedOneIsItsCount) {
  EXPECT_EQ(FixedWidth(ParsedSpec("zero(6)")), 6u);
  EXPECT_EQ(FixedWidth(ParsedSpec("pad(17)")), 17u);
  EXPECT_EQ(FixedWidth(ParsedSpec("salt(9)")), 1u);
  for (const char* text : {"", "salt(10)", "reverse_domain", "reverse_digits"}) {
    EXPECT_EQ(FixedWidth(ParsedSpec(text)), 0u) << text;
  }
}

}  // namespace
}  // namespace tallyd

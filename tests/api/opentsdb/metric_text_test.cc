#include "api/opentsdb/metric_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tallyd {
namespace {

TEST(MetricTextTest, TheFirstBracesGroupAndTheSecondDoNot) {
  const MetricText text =
      ParseMetricText("sys.cpu{host=*,dc=literal_or(lga|sjc)}{rack=regexp(r{1,2}[,=])}").value();
  EXPECT_EQ(text.metric, "sys.cpu");
  ASSERT_EQ(text.filters.size(), 3u);
  EXPECT_EQ(text.filters[0], (TagFilter{"host", TagMatch::kWildcard, {"*"}, true}));
  EXPECT_EQ(text.filters[1], (TagFilter{"dc", TagMatch::kOneOf, {"lga", "sjc"}, true}));
  EXPECT_EQ(text.filters[2], (TagFilter{"rack", TagMatch::kRegexp, {"r{1,2}[,=]"}, false}));
}

TEST(MetricTextTest, AValueIsALiteralAListOrAWildcard) {
  EXPECT_EQ(ParseTagValue("h", "a").value(), (TagFilter{"h", TagMatch::kOneOf, {"a"}}));
  EXPECT_EQ(ParseTagValue("h", "a|b").value(), (TagFilter{"h", TagMatch::kOneOf, {"a", "b"}}));
  EXPECT_EQ(ParseTagValue("h", "va*").value(),
            (TagFilter{"h", TagMatch::kWildcardAnyCase, {"va*"}}));
  EXPECT_EQ(ParseTagValue("h", "not_key()").value(), (TagFilter{"h", TagMatch::kAbsent, {}}));
}

TEST(MetricTextTest, WhatIsNotOfTheFormIsRefused) {
  for (const char* text :
       {"", "{a=b}", "m{a=b", "m{a}", "m{=b}", "m{a=}", "m{a=b}{c=d}{e=f}", "m{a=b}x",
        "m{a=nothing(b)}", "m{a=wildcard(b)}", "m{a=not_key(b)}", "m{a=literal_or()}"}) {
    EXPECT_FALSE(ParseMetricText(text)) << text;
  }
}

TEST(MetricTextTest, ATsuidTellsItsSeries) {
  const SeriesName name = {"sys.cpu", {{"dc", "lga"}, {"host", ""}}};
  const auto read = DecodeTsuid(EncodeTsuid(name));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->metric, name.metric);
  EXPECT_EQ(read->tags, name.tags);
  // 01 stands before what it escapes: 01 or 02.
  for (const char* text : {"", "0", "XY", "00", "6100", "6101", "610103"}) {
    EXPECT_FALSE(DecodeTsuid(text)) << text;
  }
}

TEST(MetricTextTest, TsuidsOfUsualNamesAreTheirBytesWithZerosBetween) {
  EXPECT_EQ(EncodeTsuid({"m", {{"a", "b"}, {"c", "d"}}}), "6D0061006200630064");
}

TEST(MetricTextTest, ATsuidKeepsApartNamesThatHoldZeros) {
  const std::string zero(1, '\0');
  const std::vector<SeriesName> names = {
      {"m", {{"a", "b"}, {"c", "d"}}},
      {"m", {{"a", "b" + zero + "c" + zero + "d"}}},
      {"m", {{"a" + zero + "b", "c"}}},
      {"m", {{"a", zero}}},
      {"m", {{"a", "\1"}}},
      {"m", {{"a", "\1\1"}}},
      {"m", {{"a", "\1\2" + zero}}},
      {"m" + zero, {{"a", ""}}},
  };
  std::set<std::string> texts;
  for (const SeriesName& name : names) {
    const std::string text = EncodeTsuid(name);
    EXPECT_TRUE(texts.insert(text).second) << text;
    const auto read = DecodeTsuid(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->metric, name.metric) << text;
    EXPECT_EQ(read->tags, name.tags) << text;
  }
}

}  // namespace
}  // namespace tallyd

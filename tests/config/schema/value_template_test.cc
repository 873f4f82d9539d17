#include "config/schema/value_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ValueTemplate Template(std::string_view text) { return ValueTemplate::Parse(text, "ts").value(); }

// "field=text" of every placeholder; a time or salt is "field".
std::vector<std::string> Match(std::string_view text, std::string_view qualifier) {
  const ValueTemplate name = Template(text);
  std::vector<KeyField> fields;
  if (!name.Match(qualifier, &fields)) return {"no match"};
  std::vector<std::string> result;
  for (const KeyField& field : fields) {
    const std::string& placeholder = name.segments()[field.segment].field;
    result.push_back(field.value.is_null() ? placeholder : placeholder + "=" + ToText(field.value));
  }
  return result;
}

std::string Render(std::string_view text, const Value& value, TimeUs t = 0) {
  const ValueTemplate name = Template(text);
  std::string out;
  for (const Segment& segment : name.segments()) {
    if (segment.is_literal()) {
      out += segment.literal;
    } else {
      EXPECT_TRUE(name.AppendSegment(segment, value, t, TimeUnit::kMilliseconds, &out));
    }
  }
  return out;
}

TEST(ValueTemplateTest, KnowsItsShape) {
  EXPECT_TRUE(Template("").is_constant());
  EXPECT_TRUE(Template("ID").is_constant());
  EXPECT_TRUE(Template("{field}").is_one_placeholder());
  EXPECT_FALSE(Template("{field}!").is_one_placeholder());
  EXPECT_FALSE(Template("{field}!").is_constant());
  EXPECT_TRUE(Template("{ts:%H%M}").Names("ts"));
  EXPECT_FALSE(Template("{ts:%H%M}").Names("field"));
  EXPECT_TRUE(Template("{ts:%H%M}").segments()[0].is_time);
}

TEST(ValueTemplateTest, RefusesWhatCannotBeMatched) {
  EXPECT_FALSE(ValueTemplate::Parse("{field", "ts"));
  EXPECT_FALSE(ValueTemplate::Parse("{field}{value}", "ts"));
  EXPECT_FALSE(ValueTemplate::Parse("{field:zero(0)}", "ts"));
}

TEST(ValueTemplateTest, RendersWithoutEncoding) {
  EXPECT_EQ(Render("{field}", Value::String("CPU#1%\n")), "CPU#1%\n");
  EXPECT_EQ(Render("{field}/x", Value::String("a/b")), "a/b/x");
  EXPECT_EQ(Render("{field}", Value::String("")), "");
  EXPECT_EQ(Render("{ts:%H%M}", Value(), ParseRfc3339("2017-07-26T00:15:00Z").value()), "0015");
  EXPECT_EQ(Render("{ts:%-d}", Value(), ParseRfc3339("2015-03-01T06:00:00Z").value()), "1");
}

TEST(ValueTemplateTest, S22_HhmmMatchesItsOwnQualifiersOnly) {
  for (const std::string_view slot : {"0000", "0015", "2330", "2345"}) {
    EXPECT_THAT(Match("{ts:%H%M}", slot), ElementsAre("ts")) << slot;
  }
  for (const std::string_view other : {"ID", "", "2400", "015", "00150"}) {
    EXPECT_THAT(Match("{ts:%H%M}", other), ElementsAre("no match")) << other;
  }
  EXPECT_THAT(Match("ID", "ID"), IsEmpty());
  EXPECT_THAT(Match("ID", "IDs"), ElementsAre("no match"));
}

TEST(ValueTemplateTest, DayOfMonthQualifiers) {
  EXPECT_THAT(Match("{ts:%-d}", "31"), ElementsAre("ts"));
  EXPECT_THAT(Match("{ts:%-d}", "1"), ElementsAre("ts"));
  EXPECT_THAT(Match("{ts:%-d}", "32"), ElementsAre("no match"));
}

TEST(ValueTemplateTest, PlaceholdersTakeTheShortestRunThatFits) {
  EXPECT_THAT(Match("{field}", "CPU/CPU1_USR"), ElementsAre("field=CPU/CPU1_USR"));
  EXPECT_THAT(Match("{a}-{b}", "x-y-z"), ElementsAre("a=x", "b=y-z"));
  EXPECT_THAT(Match("{a}-x", "b-x-x"), ElementsAre("a=b-x"));
  EXPECT_THAT(Match("{a}-{ts:%H%M}", "x-y-0015"), ElementsAre("a=x-y", "ts"));
  EXPECT_THAT(Match("{a}-{b}-end", "x-y-z-end"), ElementsAre("a=x", "b=y-z"));
  EXPECT_THAT(Match("p{a}", "q1"), ElementsAre("no match"));
  EXPECT_THAT(Match("{a}-x", "b-x-y"), ElementsAre("no match"));
  EXPECT_THAT(Match("{a}-{b}", "xy"), ElementsAre("no match"));
  EXPECT_THAT(Match("{a}-{b}", "-"), ElementsAre("a=", "b="));
}

TEST(ValueTemplateTest, FixedWidthsComeFirst) {
  EXPECT_THAT(Match("{n:zero(3)}{a}", "007x"), ElementsAre("n=7", "a=x"));
  EXPECT_THAT(Match("{n:pad(4)}{a}", "ab  x"), ElementsAre("n=ab", "a=x"));
  EXPECT_THAT(Match("{n:zero(3)}{a}", "07x"), ElementsAre("no match"));
}

TEST(ValueTemplateTest, ValuesAreTypedAsInKeys) {
  std::vector<KeyField> fields;
  ASSERT_TRUE(Template("{value}").Match("94558", &fields));
  EXPECT_EQ(fields[0].value, Value::Int(94558));
  ASSERT_TRUE(Template("{value}").Match("9.60", &fields));
  EXPECT_EQ(fields[0].value.type(), ValueType::kString);
}

TEST(ValueTemplateTest, ReversedTextHasNoView) {
  EXPECT_THAT(Match("{a:reverse_domain}!", "com.google!"), ElementsAre("a"));
  EXPECT_THAT(Match("{a:reverse_digits}", "7654321"), ElementsAre("a"));
  EXPECT_THAT(Match("{a:reverse_digits}", "76543x"), ElementsAre("no match"));
}

}  // namespace
}  // namespace tallyd

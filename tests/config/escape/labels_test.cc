#include "config/escape/labels.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/config/schema/row_key_helper.h"

namespace tallyd {
namespace {

using LabelSet = std::map<std::string, std::string>;

std::string TextOf(const LabelSet& set, char stop) {
  std::vector<Label> labels;
  for (const auto& [name, value] : set) labels.push_back({name, value});
  std::string text;
  AppendLabels(labels, stop, &text);
  return text;
}

// The labels that a text says, or nothing where it is none.
std::optional<LabelSet> SetOf(std::string_view text, char stop) {
  std::string scratch;
  scratch.reserve(text.size());
  std::vector<ReadLabel> labels;
  if (!ReadLabels(text, stop, &scratch, &labels)) return std::nullopt;
  LabelSet set;
  for (const ReadLabel& label : labels) set.emplace(label.name, label.value);
  return set;
}

// Few bytes, most of which mean something to a key.
std::string TortureText(std::mt19937* random, size_t least) {
  constexpr std::string_view kBytes("a\0\x01\x7f%,=#/0A\xff\xc3", 13);
  std::string text;
  const size_t size = least + (*random)() % 4;
  while (text.size() < size) text.push_back(kBytes[(*random)() % kBytes.size()]);
  return text;
}

LabelSet TortureSet(std::mt19937* random) {
  LabelSet set;
  for (size_t left = (*random)() % 4; left > 0; --left) {
    set[TortureText(random, 1)] = TortureText(random, 0);
  }
  return set;
}

TEST(LabelsTest, StandInOrderOfTheBytesOfTheirNames) {
  EXPECT_EQ(TextOf({{"rack", "3"}, {"host", "a"}, {"B", "x"}}, '#'), "B=x,host=a,rack=3");
  EXPECT_EQ(TextOf({}, '#'), "");
  EXPECT_EQ(TextOf({{"rack", ""}}, '#'), "rack=");
}

TEST(LabelsTest, WhatWouldEndThemIsEncodedInNamesAndValues) {
  EXPECT_EQ(TextOf({{"a=b", "1,2"}, {"c#", "%\n"}}, '#'), "a%3Db=1%2C2,c%23=%25%0A");
  EXPECT_EQ(TextOf({{"c#", "#"}}, '\0'), "c#=#");
  EXPECT_EQ(LabelHead("a=#", '#'), "a%3D%23=");
}

TEST(LabelsTest, TextsThatNoLabelsMakeAreRefused) {
  for (const char* text :
       {"a", "=1", "a=1,", ",a=1", "b=1,a=1", "a=1,a=2", "a=1=2", "a=%2c", "a=#", "a=%41"}) {
    EXPECT_FALSE(SetOf(text, '#')) << text;
  }
}

TEST(LabelsTest, AnySetReadsBackAndNoTwoHaveOneText) {
  std::mt19937 random(43);
  std::map<std::string, LabelSet> by_text;
  for (int i = 0; i < 50'000; ++i) {
    const LabelSet set = TortureSet(&random);
    const std::string text = TextOf(set, '#');
    EXPECT_EQ(SetOf(text, '#'), set);
    EXPECT_EQ(text.find('#'), std::string::npos);
    const auto [known, added] = by_text.try_emplace(text, set);
    EXPECT_TRUE(added || known->second == set) << text;
  }
}

TEST(LabelsTest, WhatReadsBackIsWrittenSo) {
  std::mt19937 random(44);
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = TortureText(&random, 0) + "=" + TortureText(&random, 0);
    const std::optional<LabelSet> set = SetOf(text, '#');
    EXPECT_TRUE(!set || TextOf(*set, '#') == text) << text;
  }
}

// ---- In templates ----

std::string ParseErrorOf(std::string_view text) {
  const Result<RowKeyTemplate> row_key = RowKeyTemplate::Parse(text, "ts");
  return row_key ? "none" : row_key.error().message();
}

std::string ShowText(const Value& value) {
  const std::string text = ToText(value);
  return value.type() == ValueType::kString ? "'" + text + "'" : text;
}

std::vector<std::string> LabelsRead(const RowKeyTemplate& row_key, std::string_view key) {
  std::string scratch;
  std::vector<KeyField> fields;
  if (!row_key.ReadBack(key, &scratch, &fields)) return {"misfit"};
  std::vector<std::string> all;
  for (const KeyField& field : fields) {
    const std::string name(field.label.empty()
                               ? std::string_view(row_key.segments()[field.segment].field)
                               : field.label);
    all.push_back(field.value.is_null() ? name : name + "=" + ShowText(field.value));
  }
  return all;
}

TEST(LabelsInKeysTest, ReadBackAsTextWhateverTheySpell) {
  const RowKeyTemplate row_key = Template("{m}#{labels}#{ts:ms}");
  using Read = std::vector<std::string>;
  EXPECT_EQ(LabelsRead(row_key, "7#host=a,rack=3#0000000000001"),
            (Read{"m=7", "host='a'", "rack='3'", "ts"}));
  EXPECT_EQ(LabelsRead(row_key, "cpu##0000000000001"), (Read{"m='cpu'", "ts"}));
  EXPECT_EQ(LabelsRead(row_key, "cpu#ts=1#0000000000001"), Read{"misfit"}) << "the time";
  EXPECT_EQ(LabelsRead(row_key, "cpu#m=1#0000000000001"), Read{"misfit"}) << "named beside it";
}

TEST(LabelsInKeysTest, TheStemEndsBehindThem) {
  EXPECT_EQ(Template("{labels}#{ts:ms}").StemSize("host=a,x=%23#0000000000001"), 13u);
}

TEST(LabelsInKeysTest, TemplatesSayWhereTheyMayStand) {
  EXPECT_EQ(ParseErrorOf("{labels}"), "none");
  EXPECT_NE(ParseErrorOf("{labels},{ts:ms}").find("must not begin with ','"), std::string::npos);
  EXPECT_NE(ParseErrorOf("{labels}={ts:ms}").find("must not begin with"), std::string::npos);
  EXPECT_NE(ParseErrorOf("{labels}{ts:ms}").find("literal text must"), std::string::npos);
  EXPECT_NE(ParseErrorOf("{labels}#{labels}").find("stands in it twice"), std::string::npos);
  EXPECT_NE(ParseErrorOf("{labels:pad(3)}").find("takes no spec"), std::string::npos);
  const Result<ValueTemplate> value = ValueTemplate::Parse("x{labels}", "ts");
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message().find("row keys only"), std::string::npos);
}

TEST(LabelsInKeysTest, AFieldOfThatNameIsNotTheirs) {
  const RowKeyTemplate row_key = Template("{labels}#{ts:ms}");
  EXPECT_FALSE(row_key.UsesField("labels"));
  EXPECT_TRUE(row_key.HoldsAsLabel("labels"));
  EXPECT_FALSE(row_key.HoldsAsLabel("ts"));
  EXPECT_FALSE(Template("{host}#{labels}").HoldsAsLabel("host"));
  EXPECT_TRUE(Template("{host:salt(4)}#{labels}").HoldsAsLabel("host")) << "a salt gives none back";
}

TEST(LabelsInKeysTest, NoValueForgesTheBeginningOfAnotherSeries) {
  std::mt19937 random(45);
  const RowKeyTemplate row_key = Template("{m}#{labels}#{ts:ms}");
  std::map<std::string, LabelSet> series;
  for (int i = 0; i < 20'000; ++i) {
    const LabelSet set = TortureSet(&random);
    series.try_emplace("m#" + TextOf(set, '#') + "#", set);
  }
  // Of two that follow each other in order neither is a prefix, so of any two neither is.
  for (auto next = std::next(series.begin()); next != series.end(); ++next) {
    EXPECT_FALSE(next->first.starts_with(std::prev(next)->first)) << next->first;
  }
}

}  // namespace
}  // namespace tallyd

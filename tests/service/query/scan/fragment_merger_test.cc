// Which fragments are of one event.
#include "service/query/scan/fragment_merger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

constexpr uint32_t kZip = 0;
constexpr uint32_t kTemp = 1;

using Fragment = std::vector<EventField>;

std::string TextOf(const std::vector<std::span<const EventField>>& events) {
  std::string text;
  for (const std::span<const EventField> event : events) {
    text += text.empty() ? "" : " | ";
    for (const EventField& field : event) {
      text += std::to_string(field.field) + "=" + ToText(field.value) + ";";
    }
  }
  return text;
}

std::string TimesIn(const FragmentMerger& merger) {
  std::vector<std::span<const TimeUs>> times;
  merger.AppendTimesTo(&times);
  std::string text;
  for (const std::span<const TimeUs> event : times) {
    text += text.empty() ? "" : " | ";
    for (const TimeUs time : event) text += std::to_string(time) + ";";
  }
  return text;
}

std::string Merged(const std::vector<Fragment>& fragments) {
  FragmentMerger merger;
  for (const Fragment& fragment : fragments) merger.Add(fragment);
  std::vector<std::span<const EventField>> views;
  merger.AppendTo(&views);
  return TextOf(views);
}

TEST(FragmentMergerTest, FragmentsThatAgreeAreOneEvent) {
  EXPECT_EQ(Merged({{{kZip, Value::Int(1)}}, {{kZip, Value::Int(1)}, {kTemp, Value::Int(2)}}}),
            "0=1;1=2;");
}

TEST(FragmentMergerTest, AFragmentThatContradictsIsAnEventOfItsOwn) {
  EXPECT_EQ(Merged({{{kZip, Value::Int(1)}},
                    {{kZip, Value::Int(2)}},
                    {{kZip, Value::Int(2)}, {kTemp, Value::Int(3)}}}),
            "0=1; | 0=2;1=3;");
  EXPECT_EQ(Merged({{{kZip, Value::String("a")}}, {{kZip, Value::String("b")}}}), "0=a; | 0=b;");
}

// One table holds the field with its type, another one in a text.
TEST(FragmentMergerTest, AValueThatIsSpeltAlikeIsNoContradictionAcrossRows) {
  EXPECT_EQ(Merged({{{kZip, Value::String("94103")}, {kTemp, Value::Int(5)}},
                    {{kZip, Value::Int(94103)}}}),
            "0=94103;1=5;");
  EXPECT_EQ(Merged({{{kZip, Value::Int(94103)}},
                    {{kZip, Value::String("94103")}, {kTemp, Value::Int(5)}}}),
            "0=94103;1=5;");
  EXPECT_EQ(Merged({{{kZip, Value::Int(94103)}}, {{kZip, Value::String("094103")}}}),
            "0=94103; | 0=094103;");
}

TEST(FragmentMergerTest, TheFirstValueStaysWhereTheFirstWins) {
  FragmentMerger merger;
  merger.AddFirstWins(Fragment{{kZip, Value::Int(1)}}, 9);
  merger.AddFirstWins(Fragment{{kZip, Value::Int(2)}, {kTemp, Value::Int(3)}}, 7);
  std::vector<std::span<const EventField>> events;
  merger.AppendTo(&events);
  EXPECT_EQ(TextOf(events), "0=1;1=3;");
  EXPECT_EQ(TimesIn(merger), "9;7;");
}

TEST(FragmentMergerTest, WhatIsBesideTheFirstHasATimeOfItsOwnAndTheRestThatOfTheFirst) {
  FragmentMerger merger;
  merger.AddFirstWins(Fragment{{kZip, Value::Int(1)}}, 9);
  merger.AddBesideFirst(Fragment{{kTemp, Value::Int(3)}}, 7);
  merger.AddBesideFirst(Fragment{{kTemp, Value::Int(4)}, {kZip, Value::Int(2)}}, 8);
  std::vector<std::span<const EventField>> events;
  merger.AppendTo(&events);
  EXPECT_EQ(TextOf(events), "1=3;0=1; | 1=4;0=2;");
  EXPECT_EQ(TimesIn(merger), "7;9; | 8;8;");
  merger.Clear();
  merger.AddFirstWins(Fragment{{kTemp, Value::Int(5)}}, 6);
  EXPECT_EQ(TimesIn(merger), "6;");
}

}  // namespace
}  // namespace tallyd

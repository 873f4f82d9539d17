#include "service/query/scan/held_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

// "time tie: text" of each part.
std::vector<std::string> Shown(HeldParts& held) {
  held.Sort();
  std::vector<std::string> shown;
  for (size_t i = 0; i < held.size(); ++i) {
    const HeldParts::Part& part = held.At(i);
    shown.push_back(std::to_string(part.key.time) + " " + std::string(part.key.tie) + ": " +
                    std::string(part.fields[0].value.AsView()));
  }
  return shown;
}

void Add(HeldParts& held, TimeUs time, const std::string& tie, const std::string& text) {
  const EventField field{0, Value::String(text)};
  held.Add({time, tie}, time, {&field, 1});
}

TEST(HeldPartsTest, PartsComeSortedAndOfOneKeyAsTheyWereAdded) {
  HeldParts held(/*descending=*/false);
  Add(held, 2, "a", "third");
  Add(held, 1, "b", "second");
  Add(held, 1, "a", "first");
  Add(held, 1, "b", "second, again");
  EXPECT_EQ(Shown(held), (std::vector<std::string>{"1 a: first", "1 b: second",
                                                   "1 b: second, again", "2 a: third"}));
}

TEST(HeldPartsTest, WhatComesLastGoesByWholeGroups) {
  HeldParts held(/*descending=*/false);
  for (int i = 0; i < 10; ++i) Add(held, 10 - i, "a", "x");
  const auto bound = held.Shrink();
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->time, 6);
  EXPECT_EQ(held.size(), 5u);
  EXPECT_EQ(Shown(held).back(), "5 a: x");
}

TEST(HeldPartsTest, AGroupIsNeverCut) {
  HeldParts held(/*descending=*/true);
  Add(held, 1, "a", "late");
  for (int i = 0; i < 10; ++i) Add(held, 7, "a", std::to_string(i));
  const auto bound = held.Shrink();
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->time, 1);
  EXPECT_EQ(held.size(), 10u);
  EXPECT_FALSE(held.Shrink()) << "one group stays";
  EXPECT_EQ(Shown(held).front(), "7 a: 0");
}

TEST(HeldPartsTest, WhatItHoldsIsKnownAndGoesWithIt) {
  HeldParts held(/*descending=*/false);
  for (int i = 0; i < 1000; ++i) Add(held, i, "a", std::string(1000, 'x'));
  EXPECT_GT(held.bytes(), 1'000'000u);
  EXPECT_LT(held.bytes(), 2'000'000u);
  held.Clear();
  EXPECT_LT(held.bytes(), 100'000u) << "the list of parts stays, for the next";
}

}  // namespace
}  // namespace tallyd

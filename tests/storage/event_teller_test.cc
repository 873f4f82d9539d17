#include "storage/event_teller.h"

#include <gtest/gtest.h>

#include <array>

namespace tallyd {
namespace {

using Prints = std::array<uint64_t, 2>;

TEST(EventTellerTest, AnotherValueIsAnotherEvent) {
  EventTeller teller(2);
  teller.Begin();
  EXPECT_FALSE(teller.IsAnother(Prints{1, 1}));
  EXPECT_FALSE(teller.IsAnother(Prints{1, 1}));
  EXPECT_TRUE(teller.IsAnother(Prints{1, 2}));
  EXPECT_FALSE(teller.IsAnother(Prints{1, 2}));
  EXPECT_TRUE(teller.IsAnother(Prints{2, 1}));
  teller.Begin();
  EXPECT_FALSE(teller.IsAnother(Prints{2, 2}));
}

TEST(EventTellerTest, WhatIsAbsentTellsNothing) {
  EventTeller teller(2);
  teller.Begin();
  EXPECT_FALSE(teller.IsAnother(Prints{0, 0}));
  EXPECT_FALSE(teller.IsAnother(Prints{1, 0}));
  EXPECT_FALSE(teller.IsAnother(Prints{0, 2}));
  EXPECT_TRUE(teller.IsAnother(Prints{0, 3}));
}

TEST(EventTellerTest, EqualValuesHaveEqualPrintsWhateverHoldsThem) {
  EXPECT_EQ(PrintOf(Value::Decimal(5, 1)), PrintOf(Value::Double(0.5)));
  EXPECT_EQ(PrintOf(Value::String("a")), PrintOf(Value::String(std::string("a"))));
  EXPECT_NE(PrintOf(Value::String("1")), PrintOf(Value::Int(1)));
  EXPECT_NE(PrintOf(Value::Int(1)), PrintOf(Value::Int(2)));
}

}  // namespace
}  // namespace tallyd

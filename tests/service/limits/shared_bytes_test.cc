#include "service/limits/shared_bytes.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(SharedBytesTest, OnePrincipalMayHaveAll) {
  SharedBytes bytes(100);
  bytes.SetPrincipals(1);
  const SharedBytes::SharePtr share = bytes.ShareOf("a");
  EXPECT_EQ(share, nullptr) << "it is not told apart";
  EXPECT_TRUE(bytes.TryTake(share.get(), 100));
  EXPECT_FALSE(bytes.TryTake(share.get(), 1));
  bytes.GiveBack(share.get(), 100);
  EXPECT_EQ(bytes.held(), 0u);
  EXPECT_EQ(bytes.given_back(), 100u);
}

TEST(SharedBytesTest, OfSeveralNoneHasMoreThanHalf) {
  SharedBytes bytes(100);
  bytes.SetPrincipals(2);
  const SharedBytes::SharePtr a = bytes.ShareOf("a");
  const SharedBytes::SharePtr again = bytes.ShareOf("a");
  const SharedBytes::SharePtr b = bytes.ShareOf("b");
  EXPECT_EQ(a, again);
  EXPECT_TRUE(bytes.TryTake(a.get(), 30));
  EXPECT_TRUE(bytes.TryTake(again.get(), 20));
  EXPECT_FALSE(bytes.TryTake(a.get(), 1));
  EXPECT_EQ(bytes.Room(a.get()), 0u);
  EXPECT_EQ(bytes.Room(b.get()), 50u);
  EXPECT_TRUE(bytes.TryTake(b.get(), 50));
  EXPECT_EQ(bytes.held(), 100u);
}

TEST(SharedBytesTest, WhatFindsNoRoomInAllTakesNothingOfItsShare) {
  SharedBytes bytes(100);
  bytes.SetPrincipals(3);
  const SharedBytes::SharePtr a = bytes.ShareOf("a");
  EXPECT_TRUE(bytes.TryTake(bytes.ShareOf("b").get(), 40));
  EXPECT_TRUE(bytes.TryTake(bytes.ShareOf("c").get(), 40));
  EXPECT_FALSE(bytes.TryTake(a.get(), 30));
  EXPECT_TRUE(bytes.HasRoomInShare(a.get(), 50));
  EXPECT_TRUE(bytes.TryTake(a.get(), 20));
}

TEST(SharedBytesTest, StrangersHaveAQuarterWhereThereAreTokens) {
  SharedBytes bytes(100);
  SharedBytes::Share* const strangers = bytes.ShareOfStrangers().get();
  EXPECT_EQ(bytes.LimitOf(strangers), 100u);
  bytes.SetPrincipals(1);
  EXPECT_EQ(bytes.LimitOf(strangers), 25u);
  EXPECT_TRUE(bytes.TryTake(strangers, 25));
  EXPECT_FALSE(bytes.TryTake(strangers, 1));
  EXPECT_TRUE(bytes.TryTake(bytes.ShareOf("a").get(), 75));
}

TEST(SharedBytesTest, AReloadMayMakeThemSeveralOrOne) {
  SharedBytes bytes(100);
  EXPECT_TRUE(bytes.TryTake(bytes.ShareOf("a").get(), 80));
  bytes.SetPrincipals(2);
  const SharedBytes::SharePtr a = bytes.ShareOf("a");
  EXPECT_EQ(bytes.LimitOf(a.get()), 50u);
  EXPECT_TRUE(bytes.TryTake(a.get(), 20));
  bytes.SetPrincipals(1);
  EXPECT_EQ(bytes.LimitOf(a.get()), 100u);
  bytes.GiveBack(nullptr, 80);
  EXPECT_TRUE(bytes.TryTake(a.get(), 80));
  bytes.GiveBack(a.get(), 100);
  EXPECT_EQ(bytes.held(), 0u);
}

TEST(SharedBytesTest, WhenThereWillBeRoomIsToldByWhatWasGivenBack) {
  SharedBytes bytes(100);
  DrainRate::Time now{};
  for (int second = 0; second < 5; ++second) {
    bytes.Sample(now);
    ASSERT_TRUE(bytes.TryTake(nullptr, 10));
    bytes.GiveBack(nullptr, 10);
    now += std::chrono::seconds(1);
  }
  bytes.Sample(now);
  EXPECT_EQ(bytes.RetryAfterSeconds(now), 1u);
  ASSERT_TRUE(bytes.TryTake(nullptr, 100));
  EXPECT_NEAR(bytes.RetryAfterSeconds(now), 10, 1);
}

}  // namespace
}  // namespace tallyd

// Sums do not depend on order, and tell where a difference is.
#include "tools/copy/event_sums.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(EventSumsTest, OrderDoesNotMatterAndEveryEventDoes) {
  EventSums a;
  a.Add(5, 1);
  a.Add(6, ~uint64_t{0});
  a.Add(kUsPerDay, 7);
  EventSums b = EventSums::LikeThoseOf(a);
  b.Add(kUsPerDay, 7);
  b.Add(6, ~uint64_t{0});
  EXPECT_TRUE(a.FirstDifference(b, 0));
  b.Add(5, 1);
  EXPECT_FALSE(a.FirstDifference(b, 0));
  EXPECT_EQ(a.Total().events, 3u);
  EXPECT_EQ(a.Total().digests, 7u);
}

TEST(EventSumsTest, ADifferenceIsToldWithItsTime) {
  EventSums a;
  a.Add(1, 10);
  a.Add(kUsPerDay + 1, 20);
  EventSums b = EventSums::LikeThoseOf(a);
  b.Add(1, 10);
  b.Add(kUsPerDay + 1, 21);
  b.Add(3 * kUsPerDay, 1);
  const auto difference = a.FirstDifference(b, 0).value();
  EXPECT_EQ(difference.time, (TimeRange{kUsPerDay, 2 * kUsPerDay}));
  EXPECT_EQ(difference.here.events, 1u);
  EXPECT_EQ(a.FirstDifference(b, 2 * kUsPerDay).value().here.events, 0u);
  EXPECT_FALSE(a.FirstDifference(b, 4 * kUsPerDay));
  EXPECT_EQ(a.Total(kUsPerDay).events, 1u);
}

TEST(EventSumsTest, WhatCameSinceIsToldAndWhatWentIsNot) {
  EventSums then;
  then.Add(1, 10);
  then.Add(2, 11);
  then.Add(kUsPerDay, 20);
  EventSums now = EventSums::LikeThoseOf(then);
  now.Add(2, 11);
  EXPECT_FALSE(then.FirstGrowth(now)) << "one went, and a whole day";
  now.Add(1, 12);
  EXPECT_EQ(then.FirstGrowth(now).value().time, (TimeRange{0, kUsPerDay})) << "it is another one";
  now.Remove(1, 12);
  now.Add(5 * kUsPerDay, 1);
  EXPECT_EQ(then.FirstGrowth(now).value().there.events, 1u) << "in a day that had none";
}

TEST(EventSumsTest, TheSpanInWhichATimeLiesIsComparedFromThereOn) {
  EventSums a;
  a.Add(kUsPerDay + 5, 10);
  EventSums b = EventSums::LikeThoseOf(a);
  EXPECT_EQ(a.FirstDifference(b, kUsPerDay + 3).value().here.events, 1u);
  EXPECT_EQ(a.Total(kUsPerDay + 3).events, 1u);
  EXPECT_FALSE(a.FirstDifference(b, 2 * kUsPerDay));
  EXPECT_EQ(a.Total(2 * kUsPerDay).events, 0u);
}

TEST(EventSumsTest, WhatIsRemovedWasNeverThere) {
  EventSums a;
  a.Add(1, 10);
  a.Add(2, 20);
  a.Remove(1, 10);
  EXPECT_EQ(a.Total(), (EventSums::Sum{1, 20}));
  a.Remove(2, 20);
  EXPECT_TRUE(a.Starts().empty());
}

TEST(EventSumsTest, SpansGetWiderSoThatThereAreNeverMany) {
  EventSums a;
  for (TimeUs day = 0; day < 20'000; ++day) a.Add(day * kUsPerDay, static_cast<uint64_t>(day));
  EXPECT_LE(a.Starts().size(), EventSums::kMaxSpans);
  EXPECT_EQ(a.Total().events, 20'000u);
  EventSums b = EventSums::LikeThoseOf(a);
  for (TimeUs day = 0; day < 20'000; ++day) b.Add(day * kUsPerDay, static_cast<uint64_t>(day));
  EXPECT_FALSE(a.FirstDifference(b, 0));
}

TEST(EventSumsTest, SumsAreKeptAsJson) {
  EventSums a;
  a.Add(kMaxTimeUs, ~uint64_t{0} - 1);
  a.Add(1, 10);
  const EventSums b = EventSums::OfJson(Json::parse(Dump(a.ToJson()))).value();
  EXPECT_FALSE(a.FirstDifference(b, 0));
  EXPECT_EQ(b.Total(), a.Total());
  for (const char* wrong :
       {"null", "{}", R"({"width_us":0,"spans":[]})", R"({"width_us":1,"spans":[[1,2]]})",
        R"({"width_us":1,"spans":[[1,2,"x"]]})"}) {
    EXPECT_FALSE(EventSums::OfJson(Json::parse(wrong))) << wrong;
  }
}

}  // namespace
}  // namespace tallyd

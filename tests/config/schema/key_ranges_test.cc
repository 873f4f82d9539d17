#include "config/schema/key_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

constexpr TimeRange kAllTime;

TimeUs At(std::string_view rfc3339) { return ParseRfc3339(rfc3339).value(); }

TimeRange Between(std::string_view from, std::string_view to) { return {At(from), At(to)}; }

TimeRange From(std::string_view from) { return {At(from), kAllTime.to}; }

Result<KeyRanges> TryFind(std::string_view row_key, const Values& values, TimeRange time) {
  return FindKeyRanges(RowKeyTemplate::Parse(row_key, "ts").value(), {values, time},
                       TimeUnit::kMilliseconds);
}

KeyRanges Find(std::string_view row_key, const Values& values, TimeRange time = kAllTime) {
  return TryFind(row_key, values, time).value();
}

// "start..end", NUL as "\0".
std::vector<std::string> Ranges(const KeyRanges& found) {
  std::vector<std::string> result;
  for (const KeyRange& range : found.ranges) {
    std::string text = range.start + ".." + range.end;
    if (text.ends_with('\0')) text.replace(text.size() - 1, 1, "\\0");
    result.push_back(std::move(text));
  }
  return result;
}

// What a found says beside its ranges, as words.
std::string Words(const KeyRanges& found) {
  std::string words = found.bounded ? "bounded" : "unbounded";
  if (found.time_ordered) words += found.time_descends ? " descending" : " ascending";
  return words;
}

TEST(PrefixEndTest, IsTheNextPrefix) {
  EXPECT_EQ(PrefixEnd("host#"), "host$");
  EXPECT_EQ(PrefixEnd("a\xff\xff"), "b");
  EXPECT_EQ(PrefixEnd("\xff"), "");
  EXPECT_EQ(PrefixEnd(""), "");
  EXPECT_EQ(PrefixEnd("\x7f"), "\x80");
}

// ---- The seeds ----

TEST(KeyRangesTest, S20_OneMachineOneTime) {
  const KeyRanges found = Find("{hostname}#{ts:ms}", {{"hostname", {"server1.bbb.com"}}},
                               {1'426'535'612'045'000, 1'426'535'612'046'000});
  EXPECT_THAT(Ranges(found),
              ElementsAre("server1.bbb.com#1426535612045..server1.bbb.com#1426535612046"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, S11_DayAloneIsAFullScanTypeIsARange) {
  const KeyRanges scan =
      Find("{type}#{id}#{ts:day}", {}, Between("2020-05-01T00:00:00Z", "2020-05-02T00:00:00Z"));
  EXPECT_THAT(Ranges(scan), ElementsAre(".."));
  EXPECT_EQ(Words(scan), "unbounded");
  EXPECT_THAT(scan.would_bound, ElementsAre("type"));
  const KeyRanges range = Find("{type}#{id}#{ts:day}", {{"type", {"phone"}}});
  EXPECT_THAT(Ranges(range), ElementsAre("phone#..phone$"));
  EXPECT_EQ(Words(range), "bounded");
  EXPECT_THAT(range.would_bound, IsEmpty());
}

TEST(KeyRangesTest, S27_TypeAndIdAreAPrefix) {
  const KeyRanges found = Find("{type}#{id}#{day}", {{"type", {"phone"}}, {"id", {"4c410523"}}});
  EXPECT_THAT(Ranges(found), ElementsAre("phone#4c410523#..phone#4c410523$"));
}

TEST(KeyRangesTest, S29_SaltsOfTheTimeFanOut) {
  const KeyRanges found = Find("BATTERY#{ts:salt(3)}#{ts:%Y%m%d%H%M%S%L}", {},
                               Between("2015-03-01T12:45:01Z", "2015-03-01T12:45:01.005Z"));
  EXPECT_THAT(Ranges(found),
              ElementsAre("BATTERY#1#20150301124501000..BATTERY#1#20150301124501005",
                          "BATTERY#2#20150301124501000..BATTERY#2#20150301124501005",
                          "BATTERY#3#20150301124501000..BATTERY#3#20150301124501005"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, S30_ReversedTimesDescend) {
  const KeyRanges found = Find("{hostname}#{ts:reverse(ms)}", {{"hostname", {"a"}}},
                               {1'426'535'612'045'000, 1'426'535'612'157'000});
  EXPECT_THAT(Ranges(found), ElementsAre("a#9223370610319163651..a#9223370610319163763"));
  EXPECT_EQ(Words(found), "bounded descending");
}

TEST(KeyRangesTest, S31_KnownValuesRenderThroughTheirSpec) {
  const KeyRanges found = Find("{meter:zero(10)}#{ts:day}", {{"meter", {"987654"}}},
                               Between("2017-07-26T00:00:00Z", "2017-07-27T00:00:00Z"));
  EXPECT_THAT(Ranges(found), ElementsAre("0000987654#20170726..0000987654#20170727"));
  const KeyRanges none = Find("{meter:zero(10)}#{ts:day}", {{"meter", {"abc", "12345678901", ""}}});
  EXPECT_THAT(Ranges(none), IsEmpty());
  EXPECT_TRUE(none.bounded);
}

TEST(KeyRangesTest, S35_AServerNeverMatchesItsLongerNamesake) {
  EXPECT_THAT(Ranges(Find("{hostname}#{ts:ms}", {{"hostname", {"server1"}}})),
              ElementsAre("server1#..server1$"));
}

// ---- Fields ----

TEST(KeyRangesTest, AWholeKeyIsOneRow) {
  const KeyRanges found = Find("{hostname}", {{"hostname", {"b", "a", "a"}}});
  EXPECT_THAT(Ranges(found), ElementsAre("a..a\\0", "b..b\\0"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, ALatestTableReadsWhole) {
  const KeyRanges found = Find("{hostname}", {});
  EXPECT_THAT(Ranges(found), ElementsAre(".."));
  EXPECT_EQ(Words(found), "unbounded");
  EXPECT_THAT(found.would_bound, ElementsAre("hostname"));
}

TEST(KeyRangesTest, SeveralValuesFanOutInKeyOrder) {
  const KeyRanges found = Find("{a}#{b}#{ts:day}", {{"a", {"y", "x"}}, {"b", {"2", "1"}}});
  EXPECT_THAT(Ranges(found), ElementsAre("x#1#..x#1$", "x#2#..x#2$", "y#1#..y#1$", "y#2#..y#2$"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, NeighboursStayApart) {
  EXPECT_THAT(Ranges(Find("{a:zero(1)}{b}", {{"a", {"1", "2"}}})), ElementsAre("1..2", "2..3"));
}

TEST(KeyRangesTest, AnUnknownFieldEndsTheWalk) {
  const KeyRanges found =
      Find("{a}#{b}#{c}#{ts:ms}", {{"a", {"x"}}, {"c", {"z"}}}, From("2020-01-01T00:00:00Z"));
  EXPECT_THAT(Ranges(found), ElementsAre("x#..x$"));
  EXPECT_EQ(Words(found), "bounded");
}

TEST(KeyRangesTest, NoValuesMatchNothing) {
  EXPECT_THAT(Ranges(Find("{a}#{ts:ms}", {{"a", {}}})), IsEmpty());
}

TEST(KeyRangesTest, ValuesAreEscapedAsInKeys) {
  EXPECT_THAT(Ranges(Find("{a}#{ts:ms}", {{"a", {"x#y"}}})), ElementsAre("x%23y#..x%23y$"));
}

TEST(KeyRangesTest, MeasuredFieldsAreKnownByName) {
  const KeyRanges found =
      Find("{location}#{balloon}#{field}#{ts:week}",
           {{"location", {"us-west2"}}, {"balloon", {"3698"}}, {"field", {"pressure"}}});
  EXPECT_THAT(Ranges(found), ElementsAre("us-west2#3698#pressure#..us-west2#3698#pressure$"));
  EXPECT_EQ(Words(found), "bounded ascending");
  EXPECT_THAT(Find("{field}#{ts:ms}", {}).would_bound, ElementsAre("fields"));
}

TEST(KeyRangesTest, TimesOfOtherFieldsAreTakenFromTheirText) {
  EXPECT_THAT(Ranges(Find("{sold:day}#{ts:ms}", {{"sold", {"1501028142045"}}})),
              ElementsAre("20170726#..20170726$"));
  EXPECT_THAT(Ranges(Find("{sold:day}#{ts:ms}", {{"sold", {"2017-07-26T23:00:00Z", "never"}}})),
              ElementsAre("20170726#..20170726$"));
}

// ---- Salts ----

TEST(KeyRangesTest, SaltsOfKnownFieldsAreComputed) {
  const std::string salt = std::to_string(Salt("Corrie", 50));
  EXPECT_THAT(Ranges(Find("{user:salt(50)}#{user}#{ts:ms}", {{"user", {"Corrie"}}})),
              ElementsAre(salt + "#Corrie#.." + salt + "#Corrie$"));
  const KeyRanges two = Find("{user:salt(50)}#{user}#{ts:ms}", {{"user", {"Corrie", "Jo"}}});
  EXPECT_EQ(two.ranges.size(), 2u);
}

TEST(KeyRangesTest, SaltsAloneDoNotBound) {
  const KeyRanges found = Find("{user:salt(3)}#{user}#{ts:ms}", {}, From("2020-01-01T00:00:00Z"));
  EXPECT_THAT(Ranges(found), ElementsAre(".."));
  EXPECT_EQ(Words(found), "unbounded");
  EXPECT_THAT(found.would_bound, ElementsAre("user"));
}

TEST(KeyRangesTest, SaltsFanOutWhenAFieldFollows) {
  const KeyRanges found = Find("{ts:salt(2)}#{user}#{ts:ms}", {{"user", {"Jo"}}});
  EXPECT_THAT(Ranges(found), ElementsAre("1#Jo#..1#Jo$", "2#Jo#..2#Jo$"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, SaltsDoNotFanOutForNothing) {
  const KeyRanges found = Find("{user}#{ts:salt(3)}#{place}", {{"user", {"Jo"}}});
  EXPECT_THAT(Ranges(found), ElementsAre("Jo#..Jo$"));
  EXPECT_EQ(Words(found), "bounded");
}

TEST(KeyRangesTest, SaltsOfTheTimeFanOutWhateverIsGiven) {
  const KeyRanges found = Find("{ts:salt(2)}#{ts:ms}", {{"ts", {"5"}}}, {5'000, 6'000});
  EXPECT_THAT(Ranges(found),
              ElementsAre("1#0000000000005..1#0000000000006", "2#0000000000005..2#0000000000006"));
  EXPECT_THAT(Ranges(Find("{ts:salt(2)}#{ts:%H%M}", {}, {5'000, 6'000})), ElementsAre(".."));
}

// ---- Time ----

TEST(KeyRangesTest, BoundsOfTimeAreHalfOpen) {
  const TimeRange odd = {1'426'535'612'045'001, 1'426'535'612'046'001};
  EXPECT_THAT(Ranges(Find("{ts:ms}", {}, odd)), ElementsAre("1426535612045..1426535612047"));
  EXPECT_THAT(Ranges(Find("{ts:us}", {}, odd)), ElementsAre("1426535612045001..1426535612046001"));
  EXPECT_THAT(Ranges(Find("{ts:s}", {}, odd)), ElementsAre("1426535612..1426535613"));
  EXPECT_THAT(Ranges(Find("{ts:bucket(1h)}", {}, odd)),
              ElementsAre("1426532400000..1426532400001"));
  EXPECT_THAT(Ranges(Find("{ts:reverse(ms)}", {}, odd)),
              ElementsAre("9223370610319163761..9223370610319163763"));
}

TEST(KeyRangesTest, OneOpenSideIsStillARange) {
  const TimeRange until = {0, At("2017-07-27T00:00:00Z")};
  EXPECT_THAT(Ranges(Find("{a}#{ts:day}", {{"a", {"x"}}}, From("2017-07-26T12:00:00Z"))),
              ElementsAre("x#20170726..x$"));
  EXPECT_THAT(Ranges(Find("{a}#{ts:day}", {{"a", {"x"}}}, until)), ElementsAre("x#..x#20170727"));
  EXPECT_THAT(Ranges(Find("{ts:reverse(ms)}", {}, until)), ElementsAre("9223370535741175808.."));
  EXPECT_EQ(Words(Find("{ts:day}#{a}", {}, until)), "bounded");
  EXPECT_THAT(Ranges(Find("{ts:day}#{a}", {}, From("2017-07-26T12:00:00Z"))),
              ElementsAre("20170726#.."));
}

TEST(KeyRangesTest, OpenTimeBoundsNothing) {
  const KeyRanges found = Find("{ts:day}#{a}", {{"a", {"x"}}});
  EXPECT_THAT(Ranges(found), ElementsAre(".."));
  EXPECT_EQ(Words(found), "unbounded");
  EXPECT_THAT(found.would_bound, ElementsAre("from", "to"));
  EXPECT_EQ(Words(Find("BATTERY#{ts:ms}", {})), "unbounded ascending");
}

TEST(KeyRangesTest, EmptyTimeMatchesNothing) {
  const KeyRanges found = Find("{a}#{ts:day}", {}, {5, 5});
  EXPECT_THAT(Ranges(found), IsEmpty());
  EXPECT_TRUE(found.bounded);
}

TEST(KeyRangesTest, BucketsAreListedBeforeAKnownField) {
  const KeyRanges found = Find("{ts:day}#{meter:zero(4)}", {{"meter", {"7", "8"}}},
                               Between("2017-07-26T12:00:00Z", "2017-07-27T00:00:01Z"));
  EXPECT_THAT(Ranges(found),
              ElementsAre("20170726#0007..20170726#0007\\0", "20170726#0008..20170726#0008\\0",
                          "20170727#0007..20170727#0007\\0", "20170727#0008..20170727#0008\\0"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, BucketsAreARangeBeforeAnUnknownField) {
  const KeyRanges found =
      Find("{ts:day}#{meter}", {}, Between("2017-07-26T12:00:00Z", "2017-07-27T00:00:01Z"));
  EXPECT_THAT(Ranges(found), ElementsAre("20170726#..20170727$"));
  EXPECT_EQ(Words(found), "bounded");
}

TEST(KeyRangesTest, TooManyBucketsAreARange) {
  const KeyRanges found = Find("{ts:ms}#{meter}", {{"meter", {"7"}}},
                               Between("2017-07-26T00:00:00Z", "2017-07-26T00:15:00Z"));
  EXPECT_THAT(Ranges(found), ElementsAre("1501027200000#..1501028099999$"));
  EXPECT_EQ(Words(found), "bounded");
}

TEST(KeyRangesTest, BucketsThatDoNotSortAreListed) {
  const KeyRanges found = Find("{a}#{ts:%d.%m.%Y}", {{"a", {"x"}}},
                               Between("2017-07-31T12:00:00Z", "2017-08-01T00:00:01Z"));
  EXPECT_THAT(Ranges(found),
              ElementsAre("x#01.08.2017..x#01.08.2017\\0", "x#31.07.2017..x#31.07.2017\\0"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, BucketsWithoutTheirLargerUnitsBoundNothing) {
  const KeyRanges found = Find("{ts:%H%M}#{a}", {{"a", {"x"}}},
                               Between("2017-07-26T12:00:00Z", "2017-07-26T13:00:00Z"));
  EXPECT_THAT(Ranges(found), ElementsAre(".."));
  EXPECT_EQ(Words(found), "unbounded");
  EXPECT_THAT(found.would_bound, IsEmpty());
  EXPECT_EQ(Words(Find("{a}#{ts:%H%M}", {{"a", {"x"}}})), "bounded");
}

TEST(KeyRangesTest, FinerTimesNarrowListedAndSortedOnes) {
  const TimeRange quarter = Between("2017-07-26T10:00:00Z", "2017-07-26T10:15:00Z");
  EXPECT_THAT(Ranges(Find("{ts:day}#{ts:ms}", {}, quarter)),
              ElementsAre("20170726#1501063200000..20170726#150106409999:"));
  const KeyRanges found = Find("{ts:day}#{a}#{ts:ms}", {{"a", {"x"}}},
                               Between("2017-07-26T23:59:00Z", "2017-07-27T00:00:00.001Z"));
  EXPECT_THAT(Ranges(found), ElementsAre("20170726#x#1501113540000..20170726#x#150111359999:",
                                         "20170727#x#1501113600000..20170727#x#1501113600001"));
  EXPECT_EQ(Words(found), "bounded ascending");
}

TEST(KeyRangesTest, RowsOfSeveralEntitiesAreNotInOrderOfTime) {
  EXPECT_EQ(Words(Find("{a}#{b}#{ts:ms}", {{"a", {"x"}}}, From("2020-01-01T00:00:00Z"))),
            "bounded");
  EXPECT_EQ(Words(Find("{a}#{ts:day}#{field}", {{"a", {"x"}}}, From("2020-01-01T00:00:00Z"))),
            "bounded");
  EXPECT_EQ(Words(Find("{a}#{ts:day}#{ts:salt(3)}", {{"a", {"x"}}})), "bounded");
}

// ---- Too many ----

TEST(KeyRangesTest, RefusesMoreRangesThanItReads) {
  Values values;
  for (int i = 0; i < 101; ++i) values["a"].push_back("x" + std::to_string(i));
  values["b"] = values["a"];
  const Result<KeyRanges> fields = TryFind("{a}#{b}#{ts:ms}", values, kAllTime);
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code(), ErrorCode::kUnprocessable);
  EXPECT_THAT(fields.error().message(), HasSubstr("needs 10201 key ranges"));
  EXPECT_THAT(fields.error().message(), HasSubstr("fewer values of a, fewer values of b"));

  const Result<KeyRanges> days =
      TryFind("{ts:%d%m%Y}#{a}", {}, Between("1980-01-01T00:00:00Z", "2020-01-01T00:00:00Z"));
  ASSERT_FALSE(days);
  EXPECT_THAT(days.error().message(), HasSubstr("needs 14610 key ranges"));
}

TEST(KeyRangesTest, BucketsTooManyToListFallBackToTheEntity) {
  EXPECT_THAT(Ranges(Find("{a}#{ts:%d%m%Y}", {{"a", {"x"}}}, From("1980-01-01T00:00:00Z"))),
              ElementsAre("x#..x$"));
  const KeyRanges open = Find("{ts:%d%m%Y}#{a}", {}, From("1980-01-01T00:00:00Z"));
  EXPECT_EQ(Words(open), "unbounded");
  EXPECT_THAT(open.would_bound, ElementsAre("to"));
}

}  // namespace
}  // namespace tallyd

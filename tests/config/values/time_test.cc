#include "config/values/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tallyd {
namespace {

using testing::HasSubstr;

constexpr TimeUs kNoon = 1'614'945'600'000'000;  // 2021-03-05T12:00:00Z

struct EventTime {
  const char* name;
  const char* token;  // A JSON number.
  TimeUnit unit;
  TimeUs us;
};

class EventTimeTest : public testing::TestWithParam<EventTime> {};

TEST_P(EventTimeTest, IsReadInItsUnit) {
  const Result<TimeUs> t = ParseEventTime(*ParseNumber(GetParam().token), GetParam().unit);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(*t, GetParam().us);
}

INSTANTIATE_TEST_SUITE_P(
    Times, EventTimeTest,
    testing::Values(
        EventTime{"Zero", "0", TimeUnit::kMilliseconds, 0},
        EventTime{"Milliseconds", "1426535612045", TimeUnit::kMilliseconds, 1'426'535'612'045'000},
        EventTime{"Seconds", "1426535612", TimeUnit::kSeconds, 1'426'535'612'000'000},
        EventTime{"Microseconds", "1426535612045123", TimeUnit::kMicroseconds,
                  1'426'535'612'045'123},
        EventTime{"NanosecondsAreCut", "1426535612045123999", TimeUnit::kNanoseconds,
                  1'426'535'612'045'123},
        // As a double it is ...045.123046875: no product says 123.
        EventTime{"DecimalMilliseconds", "1426535612045.123", TimeUnit::kMilliseconds,
                  1'426'535'612'045'123},
        EventTime{"DecimalSeconds", "1426535612.045", TimeUnit::kSeconds, 1'426'535'612'045'000},
        EventTime{"FewDigits", "12.3456", TimeUnit::kMilliseconds, 12'345},
        EventTime{"FinerIsCut", "0.0019", TimeUnit::kMilliseconds, 1},
        EventTime{"SmallIsCut", "1e-9", TimeUnit::kSeconds, 0},
        EventTime{"FractionOfMicroseconds", "5.9", TimeUnit::kMicroseconds, 5},
        EventTime{"FractionOfNanoseconds", "5999.9", TimeUnit::kNanoseconds, 5},
        EventTime{"WithExponent", "1.426535612045e12", TimeUnit::kMilliseconds,
                  1'426'535'612'045'000},
        EventTime{"LastMillisecond", "9999999999999", TimeUnit::kMilliseconds,
                  9'999'999'999'999'000},
        EventTime{"LastSecond", "9999999999", TimeUnit::kSeconds, 9'999'999'999'000'000},
        EventTime{"LastNanosecond", "9223372036854775807", TimeUnit::kNanoseconds,
                  9'223'372'036'854'775}),
    [](const auto& tested) { return tested.param.name; });

TEST(ParseEventTimeTest, AStringIsRfc3339WhateverTheUnit) {
  EXPECT_EQ(*ParseEventTime(Value::String("2021-03-05T12:00:00Z"), TimeUnit::kSeconds), kNoon);
}

// Value's double of each is another number.
TEST(ParseEventTimeTest, GoesByTheDigitsOfATextWhereItIsKnown) {
  const auto read = [](std::string_view text, TimeUnit unit) {
    const Result<TimeUs> time = ParseEventTime(*ParseNumber(text), unit, text);
    return time ? *time : -1;
  };
  EXPECT_EQ(read("9999999999999.998", TimeUnit::kMilliseconds), kMaxTimeUs - 1);
  EXPECT_EQ(read("9999999999999.999", TimeUnit::kMilliseconds), kMaxTimeUs);
  EXPECT_EQ(read("9999999999999.9999", TimeUnit::kMilliseconds), kMaxTimeUs);
  EXPECT_EQ(read("1614938400000.0009", TimeUnit::kMilliseconds), 1'614'938'400'000'000);
  EXPECT_EQ(read("1614938400.0000019", TimeUnit::kSeconds), 1'614'938'400'000'001);
  EXPECT_EQ(read("1614938400000001.9", TimeUnit::kMicroseconds), 1'614'938'400'000'001);
  EXPECT_EQ(read("1614938400000001999.5", TimeUnit::kNanoseconds), 1'614'938'400'000'001);
  EXPECT_EQ(read("1.6149384000000009e12", TimeUnit::kMilliseconds), 1'614'938'400'000'000);
  EXPECT_EQ(read("16149384000000009E-4", TimeUnit::kMilliseconds), 1'614'938'400'000'000);
  EXPECT_EQ(read("1.6149384e+9", TimeUnit::kSeconds), 1'614'938'400'000'000);
  EXPECT_EQ(read("-0.00000000000000000001", TimeUnit::kSeconds), -1);
  EXPECT_EQ(read("1e300", TimeUnit::kSeconds), -1);
}

TEST(ParseEventTimeTest, RefusesTimesOutOfRange) {
  for (const char* token : {"-1", "10000000000000", "9223372036854775807", "-9223372036854775808",
                            "-0.5", "-0.0001", "1e13", "1e300", "-1e300", "10000000000000.0"}) {
    const Result<TimeUs> t = ParseEventTime(*ParseNumber(token), TimeUnit::kMilliseconds);
    ASSERT_FALSE(t) << token;
    EXPECT_THAT(t.error().message(), HasSubstr("outside 1970-01-01T00:00:00Z")) << token;
  }
  EXPECT_FALSE(ParseEventTime(Value::Int(10'000'000'000), TimeUnit::kSeconds));
  EXPECT_FALSE(ParseEventTime(Value::Int(kMaxTimeUs + 1), TimeUnit::kMicroseconds));
  EXPECT_TRUE(ParseEventTime(Value::Int(kMaxTimeUs), TimeUnit::kMicroseconds));
  EXPECT_FALSE(ParseEventTime(Value::String("1969-12-31T23:59:59Z"), TimeUnit::kMilliseconds));
  EXPECT_FALSE(ParseEventTime(Value::String("2286-11-20T17:46:40Z"), TimeUnit::kMilliseconds));
}

TEST(ParseEventTimeTest, SaysWhatWasFoundAndWhatIsAccepted) {
  const auto message = [](const Value& value) {
    return ParseEventTime(value, TimeUnit::kMilliseconds).error().message();
  };
  EXPECT_THAT(message(Value::String("yesterday")), HasSubstr("\"yesterday\""));
  EXPECT_THAT(message(Value::String("1426535612045")), HasSubstr("a number of ms since 1970"));
  EXPECT_THAT(message(Value::Bool(true)), HasSubstr("a bool"));
  EXPECT_THAT(message(Value()), HasSubstr("RFC 3339"));
}

struct Rfc3339 {
  const char* name;
  const char* text;
  TimeUs us;
};

class Rfc3339Test : public testing::TestWithParam<Rfc3339> {};

TEST_P(Rfc3339Test, IsRead) {
  const Result<TimeUs> t = ParseRfc3339(GetParam().text);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(*t, GetParam().us);
}

INSTANTIATE_TEST_SUITE_P(
    Times, Rfc3339Test,
    testing::Values(Rfc3339{"Plain", "2021-03-05T12:00:00Z", kNoon},
                    Rfc3339{"SmallLetters", "2021-03-05t12:00:00z", kNoon},
                    Rfc3339{"Space", "2021-03-05 12:00:00Z", kNoon},
                    Rfc3339{"EastIsEarlier", "2021-03-05T13:30:00+01:30", kNoon},
                    Rfc3339{"WestIsLater", "2021-03-05T04:00:00-08:00", kNoon},
                    Rfc3339{"UnknownOffset", "2021-03-05T12:00:00-00:00", kNoon},
                    Rfc3339{"Fraction", "2021-03-05T12:00:00.5Z", kNoon + 500'000},
                    Rfc3339{"FractionAndOffset", "2021-03-05 13:00:00.000001+01:00", kNoon + 1},
                    Rfc3339{"FinerIsCut", "2021-03-05T12:00:00.1234569Z", kNoon + 123'456},
                    Rfc3339{"LeapDay", "2020-02-29T00:00:00Z", 1'582'934'400'000'000},
                    Rfc3339{"LeapDayOf2000", "2000-02-29T00:00:00Z", 951'782'400'000'000},
                    Rfc3339{"LeapSecond", "2016-12-31T23:59:60Z", 1'483'228'800'000'000},
                    Rfc3339{"Epoch", "1970-01-01T00:00:00Z", 0},
                    Rfc3339{"EpochFromTheEast", "1970-01-01T01:00:00+01:00", 0},
                    Rfc3339{"Last", "2286-11-20T17:46:39.999999Z", kMaxTimeUs}),
    [](const auto& tested) { return tested.param.name; });

TEST(ParseRfc3339Test, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "2021-03-05",
                           "2021-03-05T12:00:00",
                           "2021-03-05T12:00Z",
                           "2021-3-5T12:00:00Z",
                           "2021-02-29T00:00:00Z",
                           "1900-02-29T00:00:00Z",
                           "2021-13-01T00:00:00Z",
                           "2021-00-01T00:00:00Z",
                           "2021-04-31T00:00:00Z",
                           "2021-01-00T00:00:00Z",
                           "2021-03-05T24:00:00Z",
                           "2021-03-05T12:60:00Z",
                           "2021-03-05T12:00:61Z",
                           "2021-03-05T12:00:00.Z",
                           "2021-03-05T12:00:00,5Z",
                           "2021-03-05T12:00:00+1:00",
                           "2021-03-05T12:00:00+0100",
                           "2021-03-05T12:00:00+24:00",
                           "2021-03-05T12:00:00+01:60",
                           "2021-03-05T12:00:00Z ",
                           " 2021-03-05T12:00:00Z",
                           "2021-03-05T12:00:00ZZ",
                           "+2021-03-05T12:00:00Z",
                           "20210305T120000Z",
                           "2021/03/05T12:00:00Z",
                           "now"}) {
    const Result<TimeUs> t = ParseRfc3339(text);
    ASSERT_FALSE(t) << text;
    EXPECT_THAT(t.error().message(), HasSubstr("accepted")) << text;
  }
}

TEST(ParseRfc3339Test, CutsLongTextInItsMessage) {
  const Result<TimeUs> t = ParseRfc3339(std::string(10'000, 'x'));
  EXPECT_LT(t.error().message().size(), 300u);
}

TEST(ParseQueryTimeTest, TakesEveryForm) {
  EXPECT_EQ(*ParseQueryTime("1614945600000", 0), kNoon);
  EXPECT_EQ(*ParseQueryTime("1614945600000.5", 0), kNoon + 500);
  EXPECT_EQ(*ParseQueryTime("2021-03-05T12:00:00Z", 0), kNoon);
  EXPECT_EQ(*ParseQueryTime("now", kNoon), kNoon);
  EXPECT_EQ(*ParseQueryTime("-15m", kNoon), kNoon - 15 * 60 * kUsPerSecond);
  EXPECT_EQ(*ParseQueryTime("-1d", kNoon), kNoon - kUsPerDay);
}

TEST(ParseQueryTimeTest, GoesByItsDigits) {
  EXPECT_EQ(ParseQueryTime("9999999999999.998", 0).value(), kMaxTimeUs - 1);
  EXPECT_EQ(ParseQueryTime("9999999999999.9999", 0).value(), kMaxTimeUs);
  EXPECT_EQ(ParseQueryTime("1614938400000.0009", 0).value(), 1'614'938'400'000'000);
  EXPECT_EQ(ParseQueryTime("10000000000000.000", 0).value(), kMaxTimeUs + 1);
  EXPECT_FALSE(ParseQueryTime("10000000000000.001", 0));
}

TEST(ParseQueryTimeTest, ClampsToTheTimesThatCanBeStored) {
  EXPECT_EQ(*ParseQueryTime("-300w", kUsPerDay), 0);
  EXPECT_EQ(*ParseQueryTime("1960-01-01T00:00:00Z", kNoon), 0);
  EXPECT_EQ(*ParseQueryTime("9999-01-01T00:00:00Z", kNoon), kMaxTimeUs + 1);
}

TEST(ParseQueryTimeTest, TakesNoTimeThatMayBeInSeconds) {
  for (const char* text : {"1", "1614945600", "99999999999"}) {
    const Result<TimeUs> time = ParseQueryTime(text, kNoon);
    ASSERT_FALSE(time) << text;
    EXPECT_NE(time.error().message().find("seconds"), std::string::npos);
    EXPECT_NE(time.error().message().find(std::string(text) + "000"), std::string::npos);
  }
  EXPECT_EQ(*ParseQueryTime("0", kNoon), 0);
  EXPECT_EQ(*ParseQueryTime("100000000000", kNoon), 100'000'000'000'000);
  EXPECT_EQ(*ParseQueryTime("1.5", kNoon), 1500);
  EXPECT_EQ(*ParseQueryTime("1970-01-01T00:00:00.001Z", kNoon), 1000);
}

TEST(ParseQueryTimeTest, TakesNoTimeThatMayBeInMicrosecondsOrNanoseconds) {
  const std::pair<const char*, const char*> cases[] = {
      {"1614945600000000", "microseconds are meant, it is 2021-03-05T12:00:00Z"},
      {"1614945600000000.5", "microseconds are meant, it is 2021-03-05T12:00:00Z"},
      {"1614945600000000000", "nanoseconds are meant, it is 2021-03-05T12:00:00Z"},
      {"10000000000000", "outside"},
      {"99999999999999999999", "is no time"},
      {"1e300", "outside"}};
  for (const auto& [text, said] : cases) {
    const Result<TimeUs> time = ParseQueryTime(text, kNoon);
    ASSERT_FALSE(time) << text;
    EXPECT_THAT(time.error().message(), HasSubstr(said)) << text;
  }
  EXPECT_EQ(*ParseQueryTime("9999999999999", kNoon), kMaxTimeUs - 999);
  EXPECT_EQ(*ParseQueryTime("9999999999999.998", kNoon), kMaxTimeUs - 1);
  EXPECT_EQ(*ParseQueryTime("10000000000000.000", kNoon), kMaxTimeUs + 1) << "the end of all";
}

TEST(ParseQueryTimeTest, TakesNoTimeBeforeNowWithoutAUnit) {
  for (const std::string text : {"-1", "-15", "-1.5", "-1614945600000", "-0"}) {
    const Result<TimeUs> time = ParseQueryTime(text, kNoon);
    ASSERT_FALSE(time) << text;
    EXPECT_THAT(time.error().message(), HasSubstr("written " + text + "s, " + text + "m")) << text;
  }
}

TEST(ParseQueryTimeTest, RefusesTheRest) {
  for (const char* text : {"", "-", "yesterday", "15m", "--15m", "-15x", "2021-03-05"}) {
    EXPECT_FALSE(ParseQueryTime(text, kNoon)) << text;
  }
}

TEST(UnitHintTest, NamesTheUnitInWhichTheNumberIsATime) {
  const TimeRange usual = {100'000'000 * kUsPerSecond, kMaxTimeUs + 1};
  const auto hint = [&](int64_t number, TimeUnit unit) {
    return UnitHint(Value::Int(number), unit, usual);
  };
  EXPECT_EQ(hint(1'614'945'600, TimeUnit::kMilliseconds),
            "; if seconds are meant, it is 2021-03-05T12:00:00Z");
  EXPECT_EQ(hint(1'614'945'600'000, TimeUnit::kMicroseconds),
            "; if milliseconds are meant, it is 2021-03-05T12:00:00Z");
  EXPECT_EQ(hint(1'614'945'600'000, TimeUnit::kSeconds),
            "; if milliseconds are meant, it is 2021-03-05T12:00:00Z");
  EXPECT_EQ(hint(1'614'945'600'000'000, TimeUnit::kMilliseconds),
            "; if microseconds are meant, it is 2021-03-05T12:00:00Z");
  EXPECT_EQ(hint(1'614'945'600'000'000'000, TimeUnit::kMilliseconds),
            "; if nanoseconds are meant, it is 2021-03-05T12:00:00Z");
  EXPECT_EQ(hint(1, TimeUnit::kMilliseconds), "");
  EXPECT_EQ(hint(-1'614'945'600, TimeUnit::kMilliseconds), "");
  EXPECT_EQ(UnitHint(Value::String("1614945600"), TimeUnit::kMilliseconds, usual), "");
}

TEST(DurationTest, IsReadAndSpelledWithItsLargestUnit) {
  const std::pair<const char*, const char*> cases[] = {
      {"1us", "1us"}, {"1500us", "1500us"}, {"500ms", "500ms"}, {"5000ms", "5s"},
      {"90m", "90m"}, {"60m", "1h"},        {"24h", "1d"},      {"30d", "30d"},
      {"14d", "2w"},  {"007s", "7s"},       {"1h", "1h"},       {"300w", "300w"}};
  for (const auto& [text, spelled] : cases) {
    const Result<int64_t> us = ParseDuration(text);
    ASSERT_TRUE(us) << text;
    EXPECT_EQ(FormatDuration(*us), spelled);
  }
  EXPECT_EQ(*ParseDuration("2w"), 14 * kUsPerDay);
  EXPECT_EQ(FormatDuration(0), "0s");
}

TEST(DurationTest, RefusesWhatIsNone) {
  for (const char* text : {"", "s", "5", "0s", "-5s", "+5s", "5 s", "5S", "1.5h", "1h30m", "5y",
                           "99999999999999999999s", "9223372036854775807w", "17000w", "1sec"}) {
    const Result<int64_t> us = ParseDuration(text);
    ASSERT_FALSE(us) << text;
    EXPECT_THAT(us.error().message(), HasSubstr("accepted")) << text;
  }
}

std::string TimeText(TimeUs t, TimeUnit unit) {
  std::string text;
  AppendTime(t, unit, &text);
  return text;
}

TEST(AppendTimeTest, CarriesDecimalsOnlyWhereItIsFiner) {
  EXPECT_EQ(TimeText(1'426'535'612'045'000, TimeUnit::kMilliseconds), "1426535612045");
  EXPECT_EQ(TimeText(1'426'535'612'045'123, TimeUnit::kMilliseconds), "1426535612045.123");
  EXPECT_EQ(TimeText(1'426'535'612'045'100, TimeUnit::kMilliseconds), "1426535612045.1");
  EXPECT_EQ(TimeText(1'426'535'612'045'001, TimeUnit::kMilliseconds), "1426535612045.001");
  EXPECT_EQ(TimeText(1'426'535'612'045'000, TimeUnit::kSeconds), "1426535612.045");
  EXPECT_EQ(TimeText(12, TimeUnit::kMicroseconds), "12");
  EXPECT_EQ(TimeText(12, TimeUnit::kNanoseconds), "12000");
  EXPECT_EQ(TimeText(0, TimeUnit::kNanoseconds), "0");
  EXPECT_EQ(TimeText(kMaxTimeUs, TimeUnit::kMilliseconds), "9999999999999.999");
}

TEST(AppendTimeTest, TheLongestHasRoom) {
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMilliseconds, TimeUnit::kMicroseconds,
                              TimeUnit::kNanoseconds}) {
    EXPECT_LE(TimeText(std::numeric_limits<TimeUs>::min(), unit).size(), kMaxTimeText);
  }
  EXPECT_EQ(TimeText(std::numeric_limits<TimeUs>::min(), TimeUnit::kNanoseconds),
            "-9223372036854775808000");
  EXPECT_EQ(TimeText(-1'500, TimeUnit::kMilliseconds), "-1.5");
}

TEST(AppendTimeTest, ReadsBackAsTheSameTime) {
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMilliseconds, TimeUnit::kMicroseconds,
                              TimeUnit::kNanoseconds}) {
    for (const TimeUs t : {TimeUs{0}, TimeUs{1}, kNoon, kNoon + 1, kNoon + 123'456}) {
      EXPECT_EQ(*ParseEventTime(*ParseNumber(TimeText(t, unit)), unit), t) << ToString(unit);
    }
  }
}

TEST(FormatRfc3339Test, HasNoMoreDigitsThanItNeeds) {
  EXPECT_EQ(FormatRfc3339(1'426'535'612'045'000), "2015-03-16T19:53:32.045Z");
  EXPECT_EQ(FormatRfc3339(kNoon), "2021-03-05T12:00:00Z");
  EXPECT_EQ(FormatRfc3339(kNoon + 1), "2021-03-05T12:00:00.000001Z");
  EXPECT_EQ(FormatRfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatRfc3339(kMaxTimeUs), "2286-11-20T17:46:39.999999Z");
}

TEST(TimeUnitTest, HasItsNameOfTheFile) {
  EXPECT_EQ(ToString(TimeUnit::kSeconds), "s");
  EXPECT_EQ(ToString(TimeUnit::kMilliseconds), "ms");
  EXPECT_EQ(ToString(TimeUnit::kMicroseconds), "us");
  EXPECT_EQ(ToString(TimeUnit::kNanoseconds), "ns");
}

TEST(TimeRangeTest, IsHalfOpen) {
  const TimeRange range{10, 20};
  EXPECT_TRUE(range.Contains(10));
  EXPECT_FALSE(range.Contains(20));
  EXPECT_FALSE(range.is_open());
  EXPECT_TRUE(TimeRange{}.is_open());
  EXPECT_TRUE((TimeRange{5, 5}).is_empty());
}

TEST(TimeRangeTest, JoinedHasBothAndAnEmptyOneAddsNothing) {
  const TimeRange early{10, 20}, late{30, 40}, none{0, 0};
  EXPECT_EQ(early.Joined(late), (TimeRange{10, 40}));
  EXPECT_EQ(late.Joined(early), (TimeRange{10, 40}));
  EXPECT_EQ(early.Joined(none), early);
  EXPECT_EQ(none.Joined(late), late);
}

TEST(SystemClockTest, TellsATimeThatCanBeStored) {
  const TimeUs now = SystemClock().Now();
  EXPECT_GT(now, kNoon);
  EXPECT_LT(now, kMaxTimeUs);
}

}  // namespace
}  // namespace tallyd

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/schema/spec.h"

namespace tallyd {
namespace {

Spec SpecOf(std::string_view text) { return ParseSpec(text).value(); }

std::string Render(std::string_view spec, TimeUs t) {
  std::string out;
  AppendTimeSpec(SpecOf(spec), t, &out);
  return out;
}

TimeUs At(std::string_view rfc3339) { return ParseRfc3339(rfc3339).value(); }

// 2017-07-26 is a Wednesday of ISO week 30.
const TimeUs kReading = At("2017-07-26T00:15:42.045678Z");

struct Rendering {
  std::string_view spec;
  std::string_view text;
  std::string_view from, to;  // The period; "" where the start or end is that of all time.
};

constexpr Rendering kRenderings[] = {
    {"ms", "1501028142045", "2017-07-26T00:15:42.045Z", "2017-07-26T00:15:42.046Z"},
    {"s", "1501028142", "2017-07-26T00:15:42Z", "2017-07-26T00:15:43Z"},
    {"us", "1501028142045678", "2017-07-26T00:15:42.045678Z", "2017-07-26T00:15:42.045679Z"},
    {"reverse(ms)", "9223370535826633762", "2017-07-26T00:15:42.045Z", "2017-07-26T00:15:42.046Z"},
    {"minute", "201707260015", "2017-07-26T00:15:00Z", "2017-07-26T00:16:00Z"},
    {"hour", "2017072600", "2017-07-26T00:00:00Z", "2017-07-26T01:00:00Z"},
    {"day", "20170726", "2017-07-26T00:00:00Z", "2017-07-27T00:00:00Z"},
    {"week", "2017w30", "2017-07-24T00:00:00Z", "2017-07-31T00:00:00Z"},
    {"month", "201707", "2017-07-01T00:00:00Z", "2017-08-01T00:00:00Z"},
    {"year", "2017", "2017-01-01T00:00:00Z", "2018-01-01T00:00:00Z"},
    {"bucket(30m)", "1501027200000", "2017-07-26T00:00:00Z", "2017-07-26T00:30:00Z"},
    {"bucket(5m)", "1501028100000", "2017-07-26T00:15:00Z", "2017-07-26T00:20:00Z"},
    {"bucket(1d)", "1501027200000", "2017-07-26T00:00:00Z", "2017-07-27T00:00:00Z"},
    {"bucket(2d)", "1500940800000", "2017-07-25T00:00:00Z", "2017-07-27T00:00:00Z"},
    {"%Y-%m-%d-%H%M", "2017-07-26-0015", "2017-07-26T00:15:00Z", "2017-07-26T00:16:00Z"},
    {"%Y%m%d%H%M%S%L", "20170726001542045", "2017-07-26T00:15:42.045Z", "2017-07-26T00:15:42.046Z"},
    {"%Y%m01", "20170701", "2017-07-01T00:00:00Z", "2017-08-01T00:00:00Z"},
    {"%Y", "2017", "2017-01-01T00:00:00Z", "2018-01-01T00:00:00Z"},
    {"%Y.%j", "2017.207", "2017-07-26T00:00:00Z", "2017-07-27T00:00:00Z"},
    {"%G-W%V", "2017-W30", "2017-07-24T00:00:00Z", "2017-07-31T00:00:00Z"},
    {"%G", "2017", "2017-01-02T00:00:00Z", "2018-01-01T00:00:00Z"},
    {"%-d.%m.%y", "26.07.17", "2017-07-26T00:00:00Z", "2017-07-27T00:00:00Z"},
    {"t%Y%%", "t2017%", "2017-01-01T00:00:00Z", "2018-01-01T00:00:00Z"},
};

TEST(TimeSpecTest, RendersThePeriodThatHoldsTheTime) {
  for (const Rendering& row : kRenderings) {
    EXPECT_EQ(Render(row.spec, kReading), row.text) << row.spec;
    EXPECT_EQ(PeriodOf(SpecOf(row.spec), kReading), (TimeRange{At(row.from), At(row.to)}))
        << row.spec;
  }
}

TEST(TimeSpecTest, ReadsThePeriodBack) {
  for (const Rendering& row : kRenderings) {
    const Result<TimeRange> period = ParseTimeSpec(SpecOf(row.spec), row.text);
    ASSERT_TRUE(period) << row.spec << ": " << period.error().message();
    EXPECT_EQ(*period, (TimeRange{At(row.from), At(row.to)})) << row.spec;
  }
}

TEST(TimeSpecTest, FixedWidthIsTheNumberOfBytes) {
  for (const Rendering& row : kRenderings) {
    const bool varies = row.spec.find("%-d") != std::string_view::npos;
    EXPECT_EQ(FixedWidth(SpecOf(row.spec)), varies ? 0 : row.text.size()) << row.spec;
  }
}

TEST(TimeSpecTest, S30_ReversedTimesOfTheSeeds) {
  EXPECT_EQ(Render("reverse(ms)", 1'426'535'612'045'000), "9223370610319163762");
  EXPECT_EQ(Render("reverse(ms)", 1'426'535'612'156'000), "9223370610319163651");
}

TEST(TimeSpecTest, HhmmRecursEveryDay) {
  EXPECT_EQ(Render("%H%M", At("2017-07-26T23:45:00Z")), "2345");
  EXPECT_EQ(PeriodOf(SpecOf("%H%M"), kReading),
            (TimeRange{At("2017-07-26T00:15:00Z"), At("2017-07-26T00:16:00Z")}));
  EXPECT_EQ(ParseTimeSpec(SpecOf("%H%M"), "2345").value(), TimeRange());
  EXPECT_EQ(ParseTimeSpec(SpecOf("%-d"), "31").value(), TimeRange());
}

TEST(TimeSpecTest, IsoWeeksCrossYears) {
  EXPECT_EQ(Render("week", At("2021-01-03T12:00:00Z")), "2020w53");
  EXPECT_EQ(Render("week", At("2018-12-31T00:00:00Z")), "2019w01");
  EXPECT_EQ(ParseTimeSpec(SpecOf("week"), "2020w53").value(),
            (TimeRange{At("2020-12-28T00:00:00Z"), At("2021-01-04T00:00:00Z")}));
}

TEST(TimeSpecTest, PeriodsStayWithinTime) {
  EXPECT_EQ(PeriodOf(SpecOf("week"), 0), (TimeRange{0, At("1970-01-05T00:00:00Z")}));
  EXPECT_EQ(ParseTimeSpec(SpecOf("week"), "1970w01").value().from, 0);
  for (const std::string_view spec : {"ms", "s", "us", "reverse(ms)", "day", "week", "month",
                                      "year", "%Y", "%G", "bucket(6h)", "bucket(7d)"}) {
    const TimeRange last = PeriodOf(SpecOf(spec), kMaxTimeUs);
    EXPECT_EQ(last.to, kMaxTimeUs + 1) << spec;
    EXPECT_EQ(ParseTimeSpec(SpecOf(spec), Render(spec, kMaxTimeUs)).value(), last) << spec;
    EXPECT_EQ(ParseTimeSpec(SpecOf(spec), Render(spec, 0)).value().from, 0) << spec;
  }
}

TEST(TimeSpecTest, TellsWhatSorts) {
  struct Row {
    std::string_view spec;
    bool sorts, bounds;
  };
  constexpr Row kRows[] = {
      {"ms", true, true},          {"reverse(ms)", true, true},   {"week", true, true},
      {"bucket(30m)", true, true}, {"%Y%m%d", true, true},        {"%Y-%m-%d-%H%M", true, true},
      {"%Y%j", true, true},        {"%G%V", true, true},          {"%Y%j%H", true, true},
      {"%Y", true, true},          {"%Y%m%-d", false, true},      {"%d%m%Y", false, true},
      {"%y%m%d", false, true},     {"%m/%Y", false, true},        {"%d %Y", false, false},
      {"%H%M", false, false},      {"%Y%H", false, false},        {"%Y%m%d%M", false, false},
      {"%Y%V", false, false},      {"%V", false, false},          {"%V%G", false, true},
      {"%m", false, false},        {"%Y%d", false, false},        {"%d", false, false},
      {"%j", false, false},        {"%y", false, true},           {"%Y%m%d%G%V", false, true},
      {"%L", false, false},        {"%S%M%H%d%m%Y", false, true},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(SpecOf(row.spec).sorts_by_time, row.sorts) << row.spec;
    EXPECT_EQ(SpecOf(row.spec).bounds_time, row.bounds) << row.spec;
  }
}

TEST(TimeSpecTest, RefusesTextThatNoTimeRendersTo) {
  struct Row {
    std::string_view spec, text;
  };
  constexpr Row kRows[] = {
      {"ms", "150102814204"},
      {"ms", "15010281420450"},
      {"ms", "150102814204x"},
      {"ms", ""},
      {"ms", "+501028142045"},
      {"s", "-501028142"},
      {"reverse(ms)", "1501028142045000000"},
      {"reverse(ms)", "9223372036854775808"},
      {"minute", "201707260060"},
      {"minute", "201707262400"},
      {"day", "20170230"},
      {"day", "20171301"},
      {"day", "20170700"},
      {"day", "99990101"},
      {"day", "19691231"},
      {"day", "2017-7-6"},
      {"week", "2017w53"},
      {"week", "2017w00"},
      {"week", "2017W30"},
      {"month", "201713"},
      {"year", "17"},
      {"year", "1969"},
      {"bucket(30m)", "1501028142045"},
      {"%Y%j", "2017366"},
      {"%H%M", "2400"},
      {"%H%M", "ID"},
      {"%H%M", "12345"},
      {"%-d", "0"},
      {"%-d", "01"},
      {"%-d", "32"},
      {"%-d", ""},
      {"%m%d", "0230"},
      {"%H%H", "1213"},
      {"%Y%m%d %j", "20170726 208"},
      {"t%Y", "2017"},
      {"%Y%%", "2017"},
  };
  for (const Row& row : kRows) {
    EXPECT_FALSE(ParseTimeSpec(SpecOf(row.spec), row.text)) << row.spec << " " << row.text;
  }
  EXPECT_TRUE(ParseTimeSpec(SpecOf("%m%d"), "0229"));
}

TEST(TimeSpecTest, ShortYearsAreOfTheUnixCentury) {
  EXPECT_EQ(ParseTimeSpec(SpecOf("%y"), "70").value().from, 0);
  EXPECT_EQ(ParseTimeSpec(SpecOf("%y"), "69").value().from, At("2069-01-01T00:00:00Z"));
}

TEST(TimeSpecTest, TheTextStaysTheSameForAStep) {
  const std::vector<TimeUs> times = {0,
                                     At("2017-07-26T00:15:42.045678Z"),
                                     At("2016-02-29T23:59:59.999Z"),
                                     At("2017-01-01T00:00:00Z"),
                                     At("2016-12-31T23:59:59.999999Z"),
                                     At("2100-03-01T12:00:00Z"),
                                     kMaxTimeUs - kUsPerDay};
  const auto text = [](const Spec& spec, TimeUs t) {
    std::string out;
    AppendTimeSpec(spec, t, &out);
    return out;
  };
  for (const char* name : {"ms",
                           "s",
                           "us",
                           "reverse(ms)",
                           "minute",
                           "hour",
                           "day",
                           "week",
                           "month",
                           "year",
                           "bucket(30m)",
                           "bucket(2d)",
                           "%Y-%m-%d-%H%M",
                           "%Y%m%d%H%M%S%L",
                           "%Y.%j",
                           "%G-W%V",
                           "%-d.%m.%y",
                           "%H%M",
                           "%M",
                           "%H",
                           "%S",
                           "%d"}) {
    const Spec spec = ParseSpec(name).value();
    const int64_t step = TextStep(spec);
    for (const TimeUs t : times) {
      const TimeUs from = t - t % step;
      for (const TimeUs other : {from, from + step / 2, from + step - 1}) {
        EXPECT_EQ(text(spec, other), text(spec, t)) << name << " " << t;
      }
    }
  }
  EXPECT_EQ(TextStep(ParseSpec("%H%M").value()), 60 * kUsPerSecond);
  EXPECT_EQ(TextStep(ParseSpec("month").value()), kUsPerDay);
}

}  // namespace
}  // namespace tallyd

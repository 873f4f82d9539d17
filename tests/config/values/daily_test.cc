#include "config/values/daily.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

const TimeUs kDay = DaysFromCivil(2017, 7, 26) * kUsPerDay;

Daily Named(const std::string& name) { return *ParseDailyName(name); }

TEST(DailyTest, NamesATableForItsDayAndBack) {
  EXPECT_EQ(Named("SENSOR_{date}").NameOf(kDay), "SENSOR_20170726");
  EXPECT_EQ(Named("SENSOR_{date}").FindDay("SENSOR_20170726"), kDay);
  EXPECT_EQ(Named("{date}x").FindDay("20170726x"), kDay);
  for (const char* other : {"SENSOR", "SENSOR_2017072", "SENSOR_20170732", "SENSOR_2017072a",
                            "SENSOR_20170726~", "TENSOR_20170726"}) {
    EXPECT_FALSE(Named("SENSOR_{date}").FindDay(other).has_value()) << other;
  }
}

TEST(DailyTest, ReadsDatesAsTheyAreWritten) {
  EXPECT_EQ(ParseDate("2017-07-26"), kDay);
  EXPECT_EQ(FormatDate(kDay), "2017-07-26");
  EXPECT_EQ(CompactDate(kDay), "20170726");
  for (const char* wrong : {"", "2017-7-26", "20170726", "2017-02-30", "2017-07-26Z", "9999-01-01",
                            "1969-12-31", "-017-07-26", "2017-07-26 "}) {
    EXPECT_FALSE(ParseDate(wrong).has_value()) << wrong;
  }
}

TEST(DailyTest, KnowsWhichNamesTwoTemplatesMayShare) {
  EXPECT_TRUE(MayShareNames(Named("S_{date}"), Named("S_{date}")));
  EXPECT_FALSE(MayShareNames(Named("S_{date}"), Named("T_{date}")));
  EXPECT_FALSE(MayShareNames(Named("S_{date}"), Named("S_{date}1")));
  EXPECT_TRUE(MayShareNames(Named("S_{date}1"), Named("S_1{date}")));
  EXPECT_FALSE(MayShareNames(Named("S_{date}A"), Named("S_A{date}")));
}

TEST(DailyTest, TellsTheTimeOfADay) {
  EXPECT_EQ(ParseTimeOfDay("00:30"), 1800 * kUsPerSecond);
  EXPECT_EQ(ParseTimeOfDay("23:59"), kUsPerDay - 60 * kUsPerSecond);
  EXPECT_FALSE(ParseTimeOfDay("24:00").has_value());
}

}  // namespace
}  // namespace tallyd

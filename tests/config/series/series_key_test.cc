#include "config/series/series_key.h"

#include <gtest/gtest.h>

#include <memory>

namespace tallyd {
namespace {

std::optional<SeriesKey> SeriesKeyOf(std::string_view row_key) {
  const Result<RowKeyTemplate> parsed = RowKeyTemplate::Parse(row_key, "ts");
  EXPECT_TRUE(parsed);
  return SeriesKey::Of(*parsed, "ts");
}

std::string SeriesTextOf(std::string_view row_key, std::string_view key) {
  return std::string(SeriesKeyOf(row_key)->SeriesOf(key));
}

std::vector<KeyRange> RangesOfSeries(std::string_view row_key, std::vector<std::string> series,
                                     TimeRange time) {
  KnownFields known;
  known.time = time;
  known.series = std::make_shared<const std::vector<std::string>>(std::move(series));
  const Result<KeyRanges> ranges =
      FindKeyRanges(*RowKeyTemplate::Parse(row_key, "ts"), known, TimeUnit::kMilliseconds);
  EXPECT_TRUE(ranges);
  EXPECT_TRUE(ranges->bounded);
  return ranges->ranges;
}

TEST(SeriesKey, IsTheKeyUpToItsTime) {
  EXPECT_EQ(SeriesTextOf("{host}#{ts:ms}", "a#1426535612045"), "a#");
  EXPECT_EQ(SeriesTextOf("{host}#{rack}/{ts:day}#{ts:ms}", "a#7/20170726#1501070400000"), "a#7/");
  EXPECT_EQ(SeriesTextOf("{host}#{ts:reverse(ms)}", "a#9223370610319163762"), "a#");
}

TEST(SeriesKey, IsTheWholeKeyWithoutATime) {
  EXPECT_EQ(SeriesTextOf("{host}#{rack}", "a#7"), "a#7");
}

TEST(SeriesKey, IsNotThereWhereFieldsStandBehindTheTime) {
  EXPECT_FALSE(SeriesKeyOf("{ts:day}#{host}"));
  EXPECT_FALSE(SeriesKeyOf("{host}#{ts:day}#{rack}"));
  EXPECT_FALSE(SeriesKeyOf("{ts:ms}"));
  EXPECT_FALSE(SeriesKeyOf("{ts:salt(4)}#{host}#{ts:ms}"));
}

TEST(SeriesKey, TellsItsFields) {
  const auto keys = SeriesKeyOf("{host}#{rack:zero(3)}#{ts:ms}");
  std::string scratch;
  std::vector<KeyField> fields;
  ASSERT_TRUE(keys->Read("a%23b#007#", &scratch, &fields));
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(ToText(fields[0].value), "a#b");
  EXPECT_EQ(ToText(fields[1].value), "7");
  EXPECT_FALSE(keys->Read("a#007", &scratch, &fields));
}

TEST(SeriesKey, IsEmptyOfAKeyThatTheTemplateCannotHaveMade) {
  EXPECT_EQ(SeriesTextOf("{host}#{ts:ms}", "no time"), "");
  EXPECT_EQ(SeriesTextOf("{host:zero(3)}#{rack}", "abc#7"), "");
}

TEST(SeriesKey, GivesARangeOfTimeForEachSeriesThatAQueryKnows) {
  const TimeRange time{1'000'000, 2'000'000};
  EXPECT_EQ(RangesOfSeries("{host}#{ts:ms}", {"a#", "c#"}, time),
            (std::vector<KeyRange>{{"a#0000000001000", "a#000000000199:"},
                                   {"c#0000000001000", "c#000000000199:"}}));
}

TEST(SeriesKey, GivesAllOfASeriesToAQueryOfAnyTime) {
  EXPECT_EQ(RangesOfSeries("{host}#{ts:ms}", {"a#", "c#"}, {}),
            (std::vector<KeyRange>{PrefixRange("a#"), PrefixRange("c#")}));
  EXPECT_EQ(RangesOfSeries("{host}", {"a"}, {}), (std::vector<KeyRange>{RangeOfKey("a")}));
}

TEST(SeriesKey, GivesNoRangeWhereNoSeriesIsMeant) {
  EXPECT_TRUE(RangesOfSeries("{host}#{ts:ms}", {}, {}).empty());
}

}  // namespace
}  // namespace tallyd

#include "config/schema/row_key_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/config/schema/row_key_helper.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// ---- The seeds ----

TEST(RowKeyTemplateTest, S27_DelimitedSegments) {
  const Fields phone = {
      {"type", Text("phone")}, {"id", Text("4c410523")}, {"day", Value::Int(20200501)}};
  EXPECT_EQ(Key("{type}#{id}#{day}", phone), "phone#4c410523#20200501");
  EXPECT_EQ(Key("{type}/{id}:{day}", phone), "phone/4c410523:20200501");
  const Fields at_day = {{"type", Text("phone")}, {"id", Text("4c410523")}};
  EXPECT_EQ(Key("{type}#{id}#{ts:day}", at_day, ParseRfc3339("2020-05-01T08:00:00Z").value()),
            "phone#4c410523#20200501");
}

TEST(RowKeyTemplateTest, AStemIsWhatStandsBeforeTheTime) {
  const auto stem_of = [](std::string_view row_key, std::string_view key) {
    return std::string(key.substr(0, RowKeyTemplate::Parse(row_key, "ts")->StemSize(key)));
  };
  EXPECT_EQ("BATTERY#", stem_of("BATTERY#{ts:ms}", "BATTERY#1425213901001"));
  EXPECT_EQ("BATTERY#", stem_of("BATTERY#{ts}", "BATTERY#1425213901001"));
  EXPECT_EQ("BATTERY#Jo#", stem_of("BATTERY#{USER}#{ts:ms}", "BATTERY#Jo#1425213901002"));
  EXPECT_EQ("BATTERY#2#", stem_of("BATTERY#{ts:salt(3)}#{ts:ms}", "BATTERY#2#1425213901002"));
  EXPECT_EQ("0000987654#", stem_of("{meter:zero(10)}#{ts:day}", "0000987654#20170726"));
  EXPECT_EQ("a#", stem_of("{h}#{ts:day}#{x}", "a#20170726#b"));
  EXPECT_EQ("", stem_of("{ts:ms}#{h}", "1425213901002#b"));
  EXPECT_EQ("a#b", stem_of("{h}#{x}", "a#b"));
  EXPECT_EQ("other", stem_of("BATTERY#{ts:ms}", "other"));
  EXPECT_EQ("a", stem_of("{h}#{ts:ms}", "a"));
}

TEST(RowKeyTemplateTest, S28_PromotedFieldStandsInTheKey) {
  struct Row {
    std::string_view user;
    int millisecond;
    std::string_view key;
  };
  constexpr Row kRows[] = {{"Corrie", 1, "BATTERY#Corrie#20150301124501001"},
                           {"Corrie", 3, "BATTERY#Corrie#20150301124501003"},
                           {"Jo", 2, "BATTERY#Jo#20150301124501002"},
                           {"Sam", 4, "BATTERY#Sam#20150301124501004"},
                           {"Sam", 5, "BATTERY#Sam#20150301124501005"}};
  const TimeUs second = ParseRfc3339("2015-03-01T12:45:01Z").value();
  for (const Row& row : kRows) {
    EXPECT_EQ(Key("BATTERY#{USER}#{ts:%Y%m%d%H%M%S%L}", {{"USER", Text(row.user)}},
                  second + row.millisecond * kUsPerMs),
              row.key);
  }
  EXPECT_THAT(Template("BATTERY#{USER}#{ts:ms}").entity_fields(), ElementsAre("USER"));
}

TEST(RowKeyTemplateTest, S29_SaltOfTheTimeIsStable) {
  const TimeUs second = ParseRfc3339("2015-03-01T12:45:01Z").value();
  for (int millisecond = 1; millisecond <= 5; ++millisecond) {
    const TimeUs t = second + millisecond * kUsPerMs;
    const std::string key = Key("BATTERY#{ts:salt(3)}#{ts:%Y%m%d%H%M%S%L}", {}, t);
    EXPECT_THAT(key, ::testing::MatchesRegex("BATTERY#[123]#20150301124501[0-9][0-9][0-9]"));
    EXPECT_EQ(key[8], static_cast<char>('0' + Salt(std::to_string(t), 3)));
    EXPECT_EQ(key, Key("BATTERY#{ts:salt(3)}#{ts:%Y%m%d%H%M%S%L}", {}, t));
  }
  // Injected salts make the keys of the seeds.
  EXPECT_EQ(Key("BATTERY#{SALT}#{ts:%Y%m%d%H%M%S%L}", {{"SALT", Value::Int(3)}}, second + 1000),
            "BATTERY#3#20150301124501001");
}

TEST(RowKeyTemplateTest, S30_ReversedTimesPutTheNewestFirst) {
  const Fields host = {{"hostname", Text("server1.bbb.com")}};
  const std::string older = Key("{hostname}#{ts:reverse(ms)}", host, 1'426'535'612'045'000);
  const std::string newer = Key("{hostname}#{ts:reverse(ms)}", host, 1'426'535'612'156'000);
  EXPECT_EQ(older, "server1.bbb.com#9223370610319163762");
  EXPECT_EQ(newer, "server1.bbb.com#9223370610319163651");
  EXPECT_LT(newer, older);
}

TEST(RowKeyTemplateTest, S31_ZeroPadding) {
  EXPECT_EQ(Key("{meter:zero(10)}", {{"meter", Value::Int(987654)}}), "0000987654");
  EXPECT_EQ(Key("{meter:zero(10)}", {{"meter", Text("987654")}}), "0000987654");
  EXPECT_THAT(RenderError("{meter:zero(10)}", {{"meter", Value::Int(12345678901)}}),
              ::testing::AllOf(HasSubstr("\"meter\""), HasSubstr("wider than the 10 digits")));
}

TEST(RowKeyTemplateTest, S32_SpacePaddingOnTheRight) {
  constexpr std::string_view kKey = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{ts:ms}";
  constexpr TimeUs kQuote = 1'426'535'612'156'000;
  EXPECT_EQ(Key(kKey, {{"EXCHANGE", Text("NASDAQ")}, {"SYMBOL", Text("ZXZZT")}}, kQuote),
            "NASDAQ#ZXZZT#1426535612156");
  EXPECT_EQ(Key(kKey, {{"EXCHANGE", Text("NYSE")}, {"SYMBOL", Text("IBM")}}, kQuote),
            "NYSE  #IBM  #1426535612156");
  EXPECT_THAT(Read(kKey, "NYSE  #IBM  #1426535612156"),
              ElementsAre("EXCHANGE=NYSE", "SYMBOL=IBM", "ts"));
}

TEST(RowKeyTemplateTest, S33_ReversedDomains) {
  std::vector<std::string> keys;
  for (const std::string_view domain :
       {"drive.google.com", "en.wikipedia.org", "maps.google.com"}) {
    keys.push_back(Key("{domain:reverse_domain}", {{"domain", Text(domain)}}));
    EXPECT_THAT(Read("{domain:reverse_domain}", keys.back()),
                ElementsAre("domain=" + std::string(domain)));
  }
  std::ranges::sort(keys);
  EXPECT_THAT(keys, ElementsAre("com.google.drive", "com.google.maps", "org.wikipedia.en"));
  EXPECT_EQ(std::ranges::count_if(
                keys, [](const std::string& key) { return key.starts_with("com.google."); }),
            2);
}

TEST(RowKeyTemplateTest, S34_ReversedDigits) {
  EXPECT_EQ(Key("{user:reverse_digits}", {{"user", Value::Int(1234567)}}), "7654321");
  EXPECT_THAT(Read("{user:reverse_digits}", "7654321"), ElementsAre("user=1234567"));
  EXPECT_EQ(TypeRead("{user:reverse_digits}", "021"), ValueType::kInt64);
  EXPECT_THAT(Read("{user:reverse_digits}", "021"), ElementsAre("user=120"));
}

TEST(RowKeyTemplateTest, S35_TenantIsAPrefixWithItsDelimiter) {
  constexpr std::string_view kKey = "{tenant}#{type}#{device}#{ts:day}";
  const auto row = [&](std::string_view tenant) {
    return Key(kKey,
               {{"tenant", Text(tenant)}, {"type", Text("phone")}, {"device", Text("4c410523")}},
               ParseRfc3339("2019-05-01T00:00:00Z").value());
  };
  EXPECT_EQ(row("altostrat"), "altostrat#phone#4c410523#20190501");
  EXPECT_FALSE(row("altostrat2").starts_with("altostrat#"));
  EXPECT_THAT(row("altostrat#phone"), StartsWith("altostrat%23phone#"));
}

TEST(RowKeyTemplateTest, S36_SegmentsReadBack) {
  EXPECT_THAT(Read("{machine}#{ms}", "machine_4223421#1425330757685"),
              ElementsAre("machine=machine_4223421", "ms=1425330757685"));
  EXPECT_THAT(Read("{machine}#{ts:ms}", "machine_4223421#1425330757685"),
              ElementsAre("machine=machine_4223421", "ts"));
}

TEST(RowKeyTemplateTest, ExamplesOfTheOtherSeeds) {
  const TimeUs t = ParseRfc3339("2021-03-05T12:00:00Z").value();
  const Fields balloon = {{"location", Text("us-west2")},
                          {"balloon", Value::Int(3698)},
                          {"field", Text("pressure")},
                          {"week", Value::Int(1)}};
  EXPECT_EQ(Key("{location}#{balloon}#{field}#week{week}", balloon),
            "us-west2#3698#pressure#week1");
  EXPECT_EQ(Key("{location}#{balloon}#{ts:%Y-%m-%d-%H%M}", balloon, t),
            "us-west2#3698#2021-03-05-1200");
  EXPECT_EQ(Key("{meter:zero(10)}#{ts:day}", {{"meter", Value::Int(987654)}},
                ParseRfc3339("2017-07-26T23:45:00Z").value()),
            "0000987654#20170726");
  EXPECT_EQ(Key("VEGGIEGARDEN#{ts:%Y%m01}", {}, ParseRfc3339("2015-03-31T06:00:00Z").value()),
            "VEGGIEGARDEN#20150301");
}

// ---- Parsing ----

TEST(RowKeyTemplateTest, KnowsItsSegments) {
  const RowKeyTemplate row_key = Template("M#{hostname}#{cpu:zero(3)}{field}/{ts:ms}");
  const std::vector<Segment>& segments = row_key.segments();
  ASSERT_EQ(segments.size(), 7u);
  EXPECT_EQ(segments[0].literal, "M#");
  EXPECT_EQ(segments[1].field, "hostname");
  EXPECT_EQ(segments[1].stop, '#');
  EXPECT_EQ(segments[3].spec.kind, SpecKind::kZero);
  EXPECT_EQ(segments[3].stop, '\0');
  EXPECT_TRUE(segments[6].is_time);
  EXPECT_TRUE(row_key.names_measured_field());
  EXPECT_TRUE(row_key.UsesField("cpu"));
  EXPECT_FALSE(row_key.UsesField("M#"));
  EXPECT_THAT(row_key.entity_fields(), ElementsAre("hostname", "cpu"));
}

TEST(RowKeyTemplateTest, SaltsAreNoEntityFields) {
  EXPECT_THAT(Template("{user:salt(3)}#{ts:ms}").entity_fields(), IsEmpty());
  EXPECT_THAT(Template("{user:salt(3)}#{user}#{ts:ms}").entity_fields(), ElementsAre("user"));
  const RowKeyTemplate salted = Template("{ts:salt(3)}#{ts:ms}");
  EXPECT_FALSE(salted.segments()[0].is_time);
  EXPECT_TRUE(salted.segments()[0].of_time_field);
}

TEST(RowKeyTemplateTest, TellsAFullTimeFromABucket) {
  for (const std::string_view text :
       {"{h}#{ts:ms}", "{h}#{ts:us}", "{ts:reverse(ms)}", "{ts:%Y%m%d%H%M%S%L}", "{ts:bucket(1ms)}",
        "{h}#{ts:day}#{ts:%H%M%S%L}", "{ts:day}{ts:ms}"}) {
    EXPECT_TRUE(Template(text).has_full_time()) << text;
  }
  for (const std::string_view text :
       {"{h}", "{h}#{ts:s}", "{h}#{ts:day}", "{h}#{ts:%H%M%S%L}", "{h}#{ts}",
        "{h}#{ts:bucket(30m)}", "{h}#{ts:salt(3)}", "{h}#{other:ms}"}) {
    EXPECT_FALSE(Template(text).has_full_time()) << text;
  }
}

TEST(RowKeyTemplateTest, TellsTimesAsFinelyAsTheyCome) {
  for (const TimeUnit unit : {TimeUnit::kMicroseconds, TimeUnit::kNanoseconds}) {
    EXPECT_TRUE(Template("{h}#{ts:us}").has_time_of(unit));
    EXPECT_FALSE(Template("{h}#{ts:ms}").has_time_of(unit));
    EXPECT_FALSE(Template("{h}#{ts:%Y%m%d%H%M%S%L}").has_time_of(unit));
  }
  EXPECT_TRUE(Template("{h}#{ts:ms}").has_time_of(TimeUnit::kMilliseconds));
  EXPECT_FALSE(Template("{h}#{ts:s}").has_time_of(TimeUnit::kSeconds));
}

TEST(RowKeyTemplateTest, RefusesTemplatesThatDoNotReadBack) {
  struct Row {
    std::string_view text, message;
  };
  constexpr Row kRows[] = {
      {"", "needs a placeholder"},
      {"METRIC", "needs a placeholder"},
      {"{hostname", "'{' without '}'"},
      {"hostname}", "'}' without '{'"},
      {"{hostname}#}", "'}' without '{'"},
      {"{{hostname}}", "'{' within a placeholder"},
      {"{}", "names a field"},
      {"{:ms}", "names a field"},
      {"{a}{b}", "{a} has no fixed width"},
      {"{ts:%-d}{b}", "{ts} has no fixed width"},
      {"{a:salt(10)}{b}", "{a} has no fixed width"},
      {"{a:zero(0)}", "from 1 to"},
      {"{a:salt(0)}", "from 1 to"},
      {"{a:nonsense}", "accepted are"},
      {"{a}%{b}", "must not begin with '%'"},
      {"{a:salt(12)}0{b}", "must not begin with a digit"},
      {"{ts:%Y-%-d}0{b}", "must not begin with a digit"},
  };
  for (const Row& row : kRows) {
    const Result<RowKeyTemplate> row_key = RowKeyTemplate::Parse(row.text, "ts");
    ASSERT_FALSE(row_key) << row.text;
    EXPECT_THAT(row_key.error().message(), HasSubstr(row.message)) << row.text;
  }
  EXPECT_TRUE(RowKeyTemplate::Parse("{a:zero(3)}{b}", "ts"));
  EXPECT_TRUE(RowKeyTemplate::Parse("{a:salt(9)}{b}", "ts"));
  EXPECT_TRUE(RowKeyTemplate::Parse("{a:pad(3)}%{b}", "ts"));
}

const TimeUs kSeedsDay = DaysFromCivil(2017, 7, 26) * kUsPerDay;

std::optional<TimeUs> DayOfKey(const std::string& row_key, std::string_view key) {
  return RowKeyTemplate::Parse(row_key, "ts")->FindDay(key);
}

TEST(RowKeyDayTest, FindsTheDayOfAKeyWhereverItsTimeStands) {
  EXPECT_EQ(DayOfKey("{meter:zero(10)}#{ts:day}", "0000987654#20170726"), kSeedsDay);
  EXPECT_EQ(DayOfKey("{ts:%Y-%m-%d}#{meter}", "2017-07-26#m1"), kSeedsDay);
  EXPECT_EQ(DayOfKey("{meter}#{ts:ms}", "m1#1501113599999"), kSeedsDay);
  EXPECT_EQ(DayOfKey("{meter}#{ts:ms}", "m1#1501113600000"), kSeedsDay + kUsPerDay);
  EXPECT_EQ(DayOfKey("{meter}#{ts:reverse(ms)}", "m1#9223370535741176207"), kSeedsDay);
  EXPECT_EQ(DayOfKey("{meter}#{ts:bucket(6h)}", "m1#1501092000000"), kSeedsDay);
}

TEST(RowKeyDayTest, FindsNoDayInAKeyThatTheTemplateCannotHaveMade) {
  for (const char* key : {"", "0000987654", "0000987654#", "0000987654#2017072x",
                          "0000987654#20170732", "0000987654#201707260", "x#20170726"}) {
    EXPECT_FALSE(DayOfKey("{meter:zero(10)}#{ts:day}", key).has_value()) << key;
  }
}

}  // namespace
}  // namespace tallyd

#include "config/row_key_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Fields = std::map<std::string, Value, std::less<>>;

RowKeyTemplate Template(std::string_view text) { return RowKeyTemplate::Parse(text, "ts").value(); }

Result<std::string> Render(const RowKeyTemplate& row_key, const Fields& fields, TimeUs t = 0) {
  std::string key;
  for (const Segment& segment : row_key.segments()) {
    if (segment.is_literal()) {
      key += segment.literal;
      continue;
    }
    const auto found = fields.find(segment.field);
    const Value value = found == fields.end() ? Value() : found->second;
    const Status status = row_key.AppendSegment(segment, value, t, TimeUnit::kMilliseconds, &key);
    if (!status) return status.error();
  }
  return key;
}

std::string Key(std::string_view text, const Fields& fields, TimeUs t = 0) {
  return Render(Template(text), fields, t).value();
}

std::string RenderError(std::string_view text, const Fields& fields) {
  const Result<std::string> key = Render(Template(text), fields);
  return key ? "no error: " + *key : key.error().message();
}

Value Text(std::string_view text) { return Value::String(text); }

// "field=text" of every placeholder; a time or salt is "field".
std::vector<std::string> Read(std::string_view text, std::string_view key) {
  const RowKeyTemplate row_key = Template(text);
  std::string scratch;
  std::vector<KeyField> fields;
  if (!row_key.ReadBack(key, &scratch, &fields)) return {"misfit"};
  std::vector<std::string> result;
  for (const KeyField& field : fields) {
    const std::string& name = row_key.segments()[field.segment].field;
    result.push_back(field.value.is_null() ? name : name + "=" + ToText(field.value));
  }
  return result;
}

ValueType TypeRead(std::string_view text, std::string_view key) {
  std::string scratch;
  std::vector<KeyField> fields;
  EXPECT_TRUE(Template(text).ReadBack(key, &scratch, &fields));
  return fields.empty() ? ValueType::kNull : fields[0].value.type();
}

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

// ---- Rendering ----

TEST(RowKeyTemplateTest, EscapesWhatWouldEndTheValue) {
  EXPECT_EQ(Key("{a}#{b}", {{"a", Text("x#y%z")}, {"b", Text("p#q")}}), "x%23y%25z#p#q");
  EXPECT_EQ(Key("{a}", {{"a", Text(std::string_view("\0\x1f\x7f\x80 ", 5))}}), "%00%1F%7F\x80 ");
  EXPECT_EQ(Key("{a}1{b}", {{"a", Value::Int(211)}, {"b", Text("x")}}), "2%31%311x");
  EXPECT_EQ(Key("{a:reverse_domain}.{b}", {{"a", Text("x.y")}, {"b", Text("z")}}), "y%2Ex.z");
  EXPECT_EQ(Key("{a:pad(6)} {b}", {{"a", Text("x y")}, {"b", Text("z")}}), "x%20y  z");
  EXPECT_EQ(Key("{field}#{b}", {{"field", Text("CPU#1")}, {"b", Text("z")}}), "CPU%231#z");
}

TEST(RowKeyTemplateTest, RendersEveryTypeAsText) {
  EXPECT_EQ(Key("{a}", {{"a", Value::Int(-5)}}), "-5");
  EXPECT_EQ(Key("{a}", {{"a", Value::Double(2.0)}}), "2.0");
  EXPECT_EQ(Key("{a}", {{"a", Value::Bool(true)}}), "true");
}

TEST(RowKeyTemplateTest, RefusesValuesThatItsSpecsCannotHold) {
  struct Row {
    std::string_view text;
    Value value;
    std::string_view message;
  };
  const Row rows[] = {
      {"{a}", Text(""), "field \"a\": empty"},
      {"{a}", Value(), "field \"a\": missing"},
      {"{a:salt(3)}", Text(""), "field \"a\": empty"},
      {"{a:salt(3)}", Value(), "field \"a\": missing"},
      {"{a:pad(3)}", Text(""), "field \"a\": empty"},
      {"{a:pad(3)}", Text("abcd"), "wider than the 3 bytes"},
      {"{a:pad(3)}", Text("a%"), "wider than the 3 bytes"},
      {"{a:pad(3)}", Text("ab "), "ends in a space"},
      {"{a:zero(3)}", Text("abc"), "no non-negative integer"},
      {"{a:zero(3)}", Text("007"), "no non-negative integer"},
      {"{a:zero(3)}", Text(""), "no non-negative integer"},
      {"{a:zero(3)}", Value::Int(-1), "no non-negative integer"},
      {"{a:zero(3)}", Value::Double(5.0), "no non-negative integer"},
      {"{a:zero(3)}", Value::Int(1000), "wider than the 3 digits"},
      {"{a:reverse_digits}", Text("12a"), "not only digits"},
      {"{a:reverse_digits}", Value::Int(-12), "not only digits"},
      {"{a:reverse_domain}", Text(""), "field \"a\": empty"},
      {"{a:day}", Text("yesterday"), "field \"a\""},
      {"{a:day}", Value(), "field \"a\": missing"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(RenderError(row.text, {{"a", row.value}}), HasSubstr(row.message)) << row.text;
  }
}

TEST(RowKeyTemplateTest, MessagesQuoteLittleOfTheValue) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  const std::string message = RenderError("{a:pad(9)}", {{"a", Text(euros)}});
  EXPECT_LT(message.size(), 200u);
  EXPECT_THAT(message, HasSubstr("\xe2\x82\xac...\""));
}

TEST(RowKeyTemplateTest, TimeOfAnotherFieldIsItsOwn) {
  EXPECT_EQ(Key("{sold:day}#{ts:day}", {{"sold", Value::Int(1'501'028'142'045)}}, 0),
            "20170726#19700101");
  EXPECT_EQ(Key("{sold:day}", {{"sold", Text("2017-07-26T23:00:00Z")}}), "20170726");
}

TEST(RowKeyTemplateTest, AnEventWithoutATimeFieldHasATime) {
  EXPECT_EQ(Key("{h}#{ts}", {{"h", Text("a")}}, 1'425'330'757'685'000), "a#1425330757685");
  EXPECT_EQ(Key("{h}#{ts:ms}", {{"h", Text("a")}}, 1'425'330'757'685'000), "a#1425330757685");
}

TEST(RowKeyTemplateTest, SaltIsOfTheText) {
  const std::string expected = std::to_string(Salt("42", 100));
  EXPECT_EQ(Key("{a:salt(100)}", {{"a", Value::Int(42)}}), expected);
  EXPECT_EQ(Key("{a:salt(100)}", {{"a", Text("42")}}), expected);
  EXPECT_EQ(Salt("", 1), 1u);
  // XXH64 of "a" with seed 0 is d24ec4f1a98c6e5b.
  EXPECT_EQ(Salt("a", 10'000), 1 + 0xd24ec4f1a98c6e5bu % 10'000);
}

// ---- Reading ----

TEST(RowKeyTemplateTest, ReadsWhatItRenders) {
  EXPECT_THAT(Read("{a}#{b}", "x%23y%25z#p#q"), ElementsAre("a=x#y%z", "b=p#q"));
  EXPECT_THAT(Read("{a}1{b}", "2%31%311x"), ElementsAre("a=211", "b=x"));
  EXPECT_THAT(Read("{a:reverse_domain}.{b}", "y%2Ex.z"), ElementsAre("a=x.y", "b=z"));
  EXPECT_THAT(Read("{a:pad(6)} {b}", "x%20y  z"), ElementsAre("a=x y", "b=z"));
  EXPECT_THAT(Read("{a:zero(3)}{b}", "007x"), ElementsAre("a=7", "b=x"));
  EXPECT_THAT(Read("{a:salt(300)}#{b}", "300#x"), ElementsAre("a", "b=x"));
  EXPECT_THAT(Read("{ts:%-d/%m/%Y}/{b}", "5/03/2021/x"), ElementsAre("ts", "b=x"));
  EXPECT_THAT(Read("{a}#", "x#"), ElementsAre("a=x"));
}

TEST(RowKeyTemplateTest, ReadsNumbersWherePlainlySpelled) {
  EXPECT_EQ(TypeRead("{a}", "3698"), ValueType::kInt64);
  EXPECT_EQ(TypeRead("{a}", "0.5"), ValueType::kFloat64);
  EXPECT_EQ(TypeRead("{a}", "007"), ValueType::kString);
  EXPECT_EQ(TypeRead("{a:zero(3)}", "007"), ValueType::kInt64);
  EXPECT_EQ(TypeRead("{a:pad(5)}", "7    "), ValueType::kInt64);
}

TEST(RowKeyTemplateTest, RefusesKeysThatItCannotHaveMade) {
  struct Row {
    std::string_view text, key;
  };
  constexpr Row kRows[] = {
      {"{a}#{b}", "x"},
      {"{a}#{b}", "x#"},
      {"{a}#{b}", "#y"},
      {"{a}#{b}", ""},
      {"{a}#{b}", "x%23y"},
      {"M#{a}", "N#x"},
      {"M#{a}", "M"},
      {"{a}#", "x#y"},
      {"{a}", "%"},
      {"{a}", "%2"},
      {"{a}", "%41"},
      {"{a}", "%1f"},
      {"{a}", "%zz"},
      {"{a}", "x\ny"},
      {"{a}#{b}", "%2523#y%2"},
      {"{a:zero(3)}", "12"},
      {"{a:zero(3)}", "1234"},
      {"{a:zero(3)}", "12x"},
      {"{a:zero(20)}", "99999999999999999999"},
      {"{a:pad(3)}", "   "},
      {"{a:pad(3)}", "ab"},
      {"{a:pad(3)}#{b}", "a# #x"},
      {"{a:pad(4)} {b}", "x%20 y"},
      {"{a:salt(3)}#{b}", "4#x"},
      {"{a:salt(3)}#{b}", "0#x"},
      {"{a:salt(12)}#{b}", "13#x"},
      {"{a:salt(12)}#{b}", "01#x"},
      {"{a:salt(12)}#{b}", "#x"},
      {"{a:reverse_digits}", "12x"},
      {"{ts:ms}", "142533075768"},
      {"{ts:day}#{b}", "20170230#x"},
      {"{ts:%-d}#{b}", "#x"},
      {"{ts:ms}", "14253307576850"},
  };
  for (const Row& row : kRows) {
    EXPECT_THAT(Read(row.text, row.key), ElementsAre("misfit")) << row.text << " " << row.key;
  }
}

}  // namespace
}  // namespace tallyd

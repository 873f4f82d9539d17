#include "config/schema/placeholder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/config/schema/row_key_helper.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Rendering ----

TEST(PlaceholderTest, EscapesWhatWouldEndTheValue) {
  EXPECT_EQ(Key("{a}#{b}", {{"a", Text("x#y%z")}, {"b", Text("p#q")}}), "x%23y%25z#p#q");
  EXPECT_EQ(Key("{a}", {{"a", Text(std::string_view("\0\x1f\x7f\x80 ", 5))}}), "%00%1F%7F\x80 ");
  EXPECT_EQ(Key("{a}1{b}", {{"a", Value::Int(211)}, {"b", Text("x")}}), "2%31%311x");
  EXPECT_EQ(Key("{a:reverse_domain}.{b}", {{"a", Text("x.y")}, {"b", Text("z")}}), "y%2Ex.z");
  EXPECT_EQ(Key("{a:pad(6)} {b}", {{"a", Text("x y")}, {"b", Text("z")}}), "x%20y  z");
  EXPECT_EQ(Key("{field}#{b}", {{"field", Text("CPU#1")}, {"b", Text("z")}}), "CPU%231#z");
}

TEST(PlaceholderTest, PadsTextsOfAnyWidth) {
  EXPECT_EQ(Key("{a:pad(3)}", {{"a", Text("x")}}), "x  ");
  EXPECT_EQ(Key("{a:pad(3)}", {{"a", Text("xyz")}}), "xyz");
  EXPECT_EQ(Key("{a:pad(3)}", {{"a", Text(" x")}}), " x ");
  EXPECT_EQ(Key("{a:pad(3)}", {{"a", Value::Int(7)}}), "7  ");
}

TEST(PlaceholderTest, RendersEveryTypeAsText) {
  EXPECT_EQ(Key("{a}", {{"a", Value::Int(-5)}}), "-5");
  EXPECT_EQ(Key("{a}", {{"a", Value::Double(2.0)}}), "2.0");
  EXPECT_EQ(Key("{a}", {{"a", Value::Bool(true)}}), "true");
}

TEST(PlaceholderTest, PlainValuesAreWrittenAsTheyAreAppended) {
  const std::string long_text(80, 'x');
  const Value values[] = {Text("x"),
                          Text("xy#z"),
                          Text("x%"),
                          Text("x "),
                          Text(""),
                          Text(long_text),
                          Text("\x01"),
                          Text("\xe2\x82\xac 5"),
                          Text("007"),
                          Text("42"),
                          Value::Int(42),
                          Value::Int(0),
                          Value::Int(-7),
                          Value::Int(1'234'567),
                          Value::Double(2.5),
                          Value::Bool(true),
                          Value()};
  const std::pair<std::string_view, size_t> specs[] = {{"{a}#", 8},
                                                       {"{a}1", 6},
                                                       {"{a:pad(6)}#", 4},
                                                       {"{a:pad(80)}", 6},
                                                       {"{a:zero(4)}", 2},
                                                       {"{a:zero(12)}", 3},
                                                       {"{a:reverse_domain}#", 0},
                                                       {"{a:salt(7)}", 0},
                                                       {"{a:ms}", 0},
                                                       {"{a:reverse_digits}", 0}};
  for (const auto& [text, expected] : specs) {
    const RowKeyTemplate row_key = Template(text);
    const Segment& segment = row_key.segments().front();
    const size_t room = PlainRoom(segment);
    size_t written = 0;
    for (const Value& value : values) {
      std::string bytes(room, '?');
      const char* const end =
          room == 0 ? nullptr : WritePlain(segment, value, TemplateUse::kKey, bytes.data());
      if (end == nullptr) continue;
      std::string appended;
      const TableTime time{0, TimeUnit::kMilliseconds};
      ASSERT_TRUE(AppendPlaceholder(segment, value, time, TemplateUse::kKey, &appended)) << text;
      EXPECT_EQ(std::string_view(bytes.data(), end), appended) << text;
      ++written;
    }
    EXPECT_EQ(written, expected) << text;
  }
}

TEST(PlaceholderTest, RefusesValuesThatItsSpecsCannotHold) {
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

TEST(PlaceholderTest, MessagesQuoteLittleOfTheValue) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  const std::string message = RenderError("{a:pad(9)}", {{"a", Text(euros)}});
  EXPECT_LT(message.size(), 200u);
  EXPECT_THAT(message, HasSubstr("\xe2\x82\xac...\""));
}

TEST(PlaceholderTest, TimeOfAnotherFieldIsItsOwn) {
  EXPECT_EQ(Key("{sold:day}#{ts:day}", {{"sold", Value::Int(1'501'028'142'045)}}, 0),
            "20170726#19700101");
  EXPECT_EQ(Key("{sold:day}", {{"sold", Text("2017-07-26T23:00:00Z")}}), "20170726");
}

TEST(PlaceholderTest, AnEventWithoutATimeFieldHasATime) {
  EXPECT_EQ(Key("{h}#{ts}", {{"h", Text("a")}}, 1'425'330'757'685'000), "a#1425330757685");
  EXPECT_EQ(Key("{h}#{ts:ms}", {{"h", Text("a")}}, 1'425'330'757'685'000), "a#1425330757685");
}

TEST(PlaceholderTest, SaltIsOfTheText) {
  const std::string expected = std::to_string(Salt("42", 100));
  EXPECT_EQ(Key("{a:salt(100)}", {{"a", Value::Int(42)}}), expected);
  EXPECT_EQ(Key("{a:salt(100)}", {{"a", Text("42")}}), expected);
  EXPECT_EQ(Salt("", 1), 1u);
  // XXH64 of "a" with seed 0 is d24ec4f1a98c6e5b.
  EXPECT_EQ(Salt("a", 10'000), 1 + 0xd24ec4f1a98c6e5bu % 10'000);
}

// ---- Reading ----

TEST(PlaceholderTest, ReadsWhatItRenders) {
  EXPECT_THAT(Read("{a}#{b}", "x%23y%25z#p#q"), ElementsAre("a=x#y%z", "b=p#q"));
  EXPECT_THAT(Read("{a}1{b}", "2%31%311x"), ElementsAre("a=211", "b=x"));
  EXPECT_THAT(Read("{a:reverse_domain}.{b}", "y%2Ex.z"), ElementsAre("a=x.y", "b=z"));
  EXPECT_THAT(Read("{a:pad(6)} {b}", "x%20y  z"), ElementsAre("a=x y", "b=z"));
  EXPECT_THAT(Read("{a:zero(3)}{b}", "007x"), ElementsAre("a=7", "b=x"));
  EXPECT_THAT(Read("{a:salt(300)}#{b}", "300#x"), ElementsAre("a", "b=x"));
  EXPECT_THAT(Read("{ts:%-d/%m/%Y}/{b}", "5/03/2021/x"), ElementsAre("ts", "b=x"));
  EXPECT_THAT(Read("{a}#", "x#"), ElementsAre("a=x"));
}

TEST(PlaceholderTest, ReadsNumbersWherePlainlySpelled) {
  EXPECT_EQ(TypeRead("{a}", "3698"), ValueType::kInt64);
  EXPECT_EQ(TypeRead("{a}", "0.5"), ValueType::kFloat64);
  EXPECT_EQ(TypeRead("{a}", "007"), ValueType::kString);
  EXPECT_EQ(TypeRead("{a:zero(3)}", "007"), ValueType::kInt64);
  EXPECT_EQ(TypeRead("{a:pad(5)}", "7    "), ValueType::kInt64);
}

TEST(PlaceholderTest, RefusesKeysThatItCannotHaveMade) {
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

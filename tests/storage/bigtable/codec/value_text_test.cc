#include "storage/bigtable/codec/value_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

namespace tallyd {
namespace {

std::string CellTextOf(const Value& value) {
  std::string text;
  AppendCellText(value, &text);
  return text;
}

TEST(ValueText, IsWhatPeopleRead) {
  EXPECT_EQ(CellTextOf(Value::Int(-42)), "-42");
  EXPECT_EQ(CellTextOf(Value::Double(1.5)), "1.5");
  EXPECT_EQ(CellTextOf(Value::Double(2)), "2.0");
  EXPECT_EQ(CellTextOf(Value::Decimal(150, 2)), "1.5");
  EXPECT_EQ(CellTextOf(Value::Bool(true)), "true");
  EXPECT_EQ(CellTextOf(Value::String("up 3 days")), "up 3 days");
  EXPECT_EQ(CellTextOf(Value::String("")), "");
}

TEST(ValueText, HasAQuoteWhereItWouldReadAsSomethingElse) {
  EXPECT_EQ(CellTextOf(Value::String("42")), "'42");
  EXPECT_EQ(CellTextOf(Value::String("1.50")), "1.50") << "no number is spelled so";
  EXPECT_EQ(CellTextOf(Value::String("true")), "'true");
  EXPECT_EQ(CellTextOf(Value::String("'b")), "''b");
  EXPECT_EQ(CellTextOf(Value::Bytes(std::string_view("\0\1\2", 3))), "'bAAEC");
  EXPECT_EQ(CellTextOf(Value::Bytes("")), "'b");
}

TEST(ValueText, ComesBackAsTheValueThatItWas) {
  const std::string bytes("\xff\0'b", 4);
  for (const Value& value :
       {Value::Int(0), Value::Int(std::numeric_limits<int64_t>::min()), Value::Double(-0.0),
        Value::Double(5e-324), Value::Double(1e300), Value::Decimal(-1, 1), Value::Bool(false),
        Value::String("0"), Value::String("-"), Value::String("'"), Value::String("''"),
        Value::String("b"), Value::String("'bAAEC"), Value::String("false"), Value::String("é"),
        Value::Bytes("text"), Value::Bytes(bytes), Value::Bytes("ab")}) {
    Arena arena;
    const std::string text = CellTextOf(value);
    EXPECT_EQ(ValueOfCellText(text, &arena), value) << text;
  }
}

// Random texts and bytes out of few characters, so that the spellings of other types are met.
TEST(ValueText, IsOneToOne) {
  constexpr std::string_view kCharacters = "'b-.01e+truefalsAA==";
  std::mt19937 random(7);
  std::map<std::string, std::pair<ValueType, std::string>> seen;
  for (int i = 0; i < 20'000; ++i) {
    std::string content;
    for (size_t length = random() % 6; length > 0; --length) {
      content.push_back(kCharacters[random() % kCharacters.size()]);
    }
    const Value value = random() % 2 == 0 ? Value::String(content) : Value::Bytes(content);
    const std::string text = CellTextOf(value);
    Arena arena;
    ASSERT_EQ(ValueOfCellText(text, &arena), value) << content;
    const auto [other, added] = seen.try_emplace(text, value.type(), content);
    ASSERT_EQ(other->second, std::pair(value.type(), content)) << text;
    // What others may have written comes back as something whose text may be another.
    const Value foreign = ValueOfCellText(content, &arena);
    const std::string spelled = CellTextOf(foreign);
    ASSERT_EQ(ValueOfCellText(spelled, &arena), foreign) << content;
  }
}

TEST(ValueText, OfOthersThatIsNoTextComesBackAsBytes) {
  Arena arena;
  EXPECT_EQ(ValueOfCellText("\xff\xfe", &arena), Value::Bytes("\xff\xfe"));
  EXPECT_EQ(ValueOfCellText("'b!", &arena), Value::Bytes("'b!"));
  EXPECT_EQ(ValueOfCellText("\xed\xa0\x80", &arena), Value::Bytes("\xed\xa0\x80"));
  EXPECT_EQ(ValueOfCellText("'plain", &arena), Value::String("'plain"));
}

}  // namespace
}  // namespace tallyd

#include "config/values/aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace tallyd {
namespace {

using testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

std::string Digits(Int128 number) {
  std::string text;
  AppendInt128(number, &text);
  return text;
}

// What a reader sees of a cell to which these inputs are written, in this order.
std::string Read(Aggregate kind, const std::vector<Value>& inputs) {
  AggregateFold fold(kind);
  for (const Value& input : inputs) {
    std::string bytes;
    const Result<Value> state = StateOfInput(kind, input, &bytes);
    if (!state) return state.error().message();
    EXPECT_TRUE(IsState(kind, *state));
    EXPECT_TRUE(fold.Add(*state));
  }
  std::string bytes;
  const std::optional<Int128> read = ReadState(kind, fold.Get(&bytes));
  return read ? Digits(*read) : "no state";
}

// What a kind's row says, as one reads it out.
std::string Sentence(Aggregate kind) {
  const AggregateInfo& info = InfoOf(kind);
  std::string text(info.name);
  text.append(" takes ").append(info.inputs).append("; a state is ").append(info.states);
  if (info.is_numeric) text += ", a number";
  if (info.is_wide) text += " of 128 bits";
  return text + (info.counts_repeats ? "; repeats count" : "; repeats change nothing");
}

TEST(Aggregate, TheRowOfAKindTellsWhatIsTrueOfIt) {
  const std::string number =
      " takes an int64 (a whole number); a state is an integer, or its digits as a string, a "
      "number";
  EXPECT_EQ(Sentence(Aggregate::kSum), "sum" + number + " of 128 bits; repeats count");
  EXPECT_EQ(Sentence(Aggregate::kMin), "min" + number + "; repeats change nothing");
  EXPECT_EQ(Sentence(Aggregate::kMax), "max" + number + "; repeats change nothing");
  EXPECT_EQ(Sentence(Aggregate::kHll),
            "hll takes a string or bytes; a state is a state of it, as raw=1 gives it; repeats "
            "change nothing");
}

TEST(Aggregate, ItsRowTellsWhetherRepeatsCount) {
  for (const AggregateInfo& info : kAggregates) {
    const Value input = info.is_numeric ? Value::Int(7) : Value::String("a");
    const bool counts = Read(info.kind, {input}) != Read(info.kind, {input, input});
    EXPECT_EQ(counts, info.counts_repeats) << info.name;
  }
}

TEST(Aggregate, IsFoundByTheNumberThatIsStored) {
  EXPECT_EQ(AggregateOfNumber(0), std::nullopt) << "a plain family";
  for (const AggregateInfo& info : kAggregates) {
    EXPECT_EQ(AggregateOfNumber(static_cast<uint8_t>(info.kind)), info.kind) << info.name;
  }
  EXPECT_EQ(AggregateOfNumber(static_cast<uint8_t>(kAggregates.size() + 1)), std::nullopt);
  EXPECT_EQ(AggregateOfNumber(255), std::nullopt);
}

TEST(Aggregate, FoldsInAnyOrderToTheSame) {
  std::vector<int64_t> inputs = {10, 25, 40};
  do {
    std::vector<Value> values;
    for (const int64_t input : inputs) values.push_back(Value::Int(input));
    EXPECT_EQ(Read(Aggregate::kSum, values), "75");
    EXPECT_EQ(Read(Aggregate::kMin, values), "10");
    EXPECT_EQ(Read(Aggregate::kMax, values), "40");
  } while (std::ranges::next_permutation(inputs).found);
}

TEST(Aggregate, EstimatesTextsAndBytesThatDiffer) {
  EXPECT_EQ(Read(Aggregate::kHll, {Value::String("a"), Value::Bytes("b"), Value::String("a")}),
            "2");
}

TEST(Aggregate, ASumBeyondInt64IsExactAndComesBack) {
  EXPECT_EQ(Read(Aggregate::kSum, {Value::Int(kMost), Value::Int(kMost)}), "18446744073709551614");
  EXPECT_EQ(Read(Aggregate::kSum, {Value::Int(kLeast), Value::Int(kLeast)}),
            "-18446744073709551616");
  EXPECT_EQ(Read(Aggregate::kSum,
                 {Value::Int(kMost), Value::Int(kMost), Value::Int(-kMost), Value::Int(-kMost)}),
            "0");
}

TEST(Aggregate, ASumHasOneState) {
  AggregateFold fold(Aggregate::kSum);
  std::string bytes;
  for (const int64_t input : {kMost, int64_t{1}}) EXPECT_TRUE(fold.Add(Value::Int(input)));
  EXPECT_EQ(fold.Get(&bytes),
            Value::Bytes(std::string_view("\0\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0", 16)));
  EXPECT_TRUE(fold.Add(Value::Int(-1)));
  EXPECT_EQ(fold.Get(&bytes), Value::Int(kMost));
  EXPECT_FALSE(IsState(Aggregate::kSum, Value::Bytes(std::string(16, '\0'))));
}

TEST(Aggregate, AnInputOfAnotherTypeIsRefusedByWhatIsAccepted) {
  EXPECT_THAT(Read(Aggregate::kSum, {Value::String("25")}), HasSubstr("sum takes an int64"));
  EXPECT_THAT(Read(Aggregate::kSum, {Value::Decimal(25, 1)}), HasSubstr("float64"));
  EXPECT_THAT(Read(Aggregate::kMin, {Value::Bool(true)}), HasSubstr("min takes an int64"));
  EXPECT_THAT(Read(Aggregate::kMax, {Value::Bytes("x")}), HasSubstr("max takes an int64"));
  EXPECT_THAT(Read(Aggregate::kHll, {Value::Int(1)}), HasSubstr("hll takes a string or bytes"));
}

TEST(Aggregate, OfDamagedBytesIsRefusedAndChangesNothing) {
  for (const AggregateInfo& info : kAggregates) {
    const Aggregate kind = info.kind;
    for (const Value& wrong : {Value(), Value::String("x"), Value::Bytes("abc"), Value::Double(1),
                               Value::Bytes(std::string_view("\0", 1))}) {
      AggregateFold fold(kind);
      EXPECT_FALSE(fold.Add(wrong));
      EXPECT_FALSE(IsState(kind, wrong));
      EXPECT_EQ(ReadState(kind, wrong), std::nullopt);
      std::string bytes;
      EXPECT_TRUE(fold.Get(&bytes).is_null());
    }
  }
  EXPECT_FALSE(IsState(Aggregate::kHll, Value::Int(1)));
  EXPECT_FALSE(IsState(Aggregate::kMin, Value::Bytes(std::string(16, '\1'))));
}

TEST(Aggregate, ParsesWhatFits128Bits) {
  const std::string most = "170141183460469231731687303715884105727";
  const std::string least = "-170141183460469231731687303715884105728";
  for (const std::string& text : {most, least, std::string("0"), std::string("-7")}) {
    ASSERT_TRUE(ParseInt128(text)) << text;
    EXPECT_EQ(Digits(*ParseInt128(text)), text);
  }
  for (const char* wrong :
       {"", "-", "-0", "01", "1.0", "1e3", "+1", " 1", "170141183460469231731687303715884105728",
        "-170141183460469231731687303715884105729"}) {
    EXPECT_FALSE(ParseInt128(wrong)) << wrong;
  }
}

TEST(Aggregate, AStateThatIsMergedIsANumberOrASketch) {
  std::string bytes;
  EXPECT_EQ(*StateOfNumber(Aggregate::kSum, "65", &bytes), Value::Int(65));
  const Result<Value> wide = StateOfNumber(Aggregate::kSum, "18446744073709551614", &bytes);
  EXPECT_EQ(Digits(*ReadState(Aggregate::kSum, *wide)), "18446744073709551614");
  EXPECT_FALSE(StateOfNumber(Aggregate::kMin, "18446744073709551614", &bytes));
  EXPECT_FALSE(StateOfNumber(Aggregate::kSum, "6.5", &bytes));
  EXPECT_FALSE(StateOfNumber(Aggregate::kHll, "2", &bytes));
  const Result<Value> sketch = StateOfInput(Aggregate::kHll, Value::String("a"), &bytes);
  const std::string state(sketch->AsView());
  EXPECT_EQ(*StateOfBytes(Aggregate::kHll, state), Value::Bytes(state));
  EXPECT_FALSE(StateOfBytes(Aggregate::kHll, "junk"));
  EXPECT_FALSE(StateOfBytes(Aggregate::kSum, state));
}

}  // namespace
}  // namespace tallyd

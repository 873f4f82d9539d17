#include "service/query/ask/where.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

// The operators that hold between the value and the text.
std::string Holding(const Value& value, const std::string& text) {
  std::string holding;
  for (const auto& [name, comparison] :
       {std::pair{">", Comparison::kGreater}, std::pair{">=", Comparison::kGreaterEqual},
        std::pair{"<", Comparison::kLess}, std::pair{"<=", Comparison::kLessEqual},
        std::pair{"=", Comparison::kEqual}, std::pair{"!=", Comparison::kNotEqual}}) {
    if (!Where{"x", comparison, Operand(text)}.Holds(value)) continue;
    holding += (holding.empty() ? "" : " ") + std::string(name);
  }
  return holding;
}

constexpr char kLess[] = "< <= !=";
constexpr char kSame[] = ">= <= =";
constexpr char kGreater[] = "> >= !=";
constexpr int64_t kBig = 9'007'199'254'740'993;  // 2^53 + 1, which no double is.

TEST(WhereTest, IntegersCompareExactlyBeyondTheDoubles) {
  EXPECT_EQ(Holding(Value::Int(kBig), "9007199254740993"), kSame);
  EXPECT_EQ(Holding(Value::Int(kBig), "9007199254740992"), kGreater);
  EXPECT_EQ(Holding(Value::Int(kBig), "9007199254740994"), kLess);
  EXPECT_EQ(Holding(Value::Int(kBig), "9007199254740993.0"), kSame);
  EXPECT_EQ(Holding(Value::Int(kBig - 1), "9007199254740992.5"), kLess);
  EXPECT_EQ(Holding(Value::Int(kBig), "9007199254740992.5"), kGreater);
  EXPECT_EQ(Holding(Value::Int(-kBig), "-9007199254740993.5"), kGreater);
  EXPECT_EQ(Holding(Value::Int(-kBig), "-9007199254740992.5"), kLess);
  EXPECT_EQ(Holding(Value::Int(INT64_MAX), "9223372036854775807"), kSame);
  EXPECT_EQ(Holding(Value::Int(INT64_MAX), "9223372036854775808"), kLess);
  EXPECT_EQ(Holding(Value::Int(INT64_MIN), "-9223372036854775809"), kGreater);
  EXPECT_EQ(Holding(Value::Int(INT64_MIN), "-1e400"), "!=") << "no number that there is";
  EXPECT_EQ(Holding(Value::Int(INT64_MIN), "-1e300"), kGreater);
}

TEST(WhereTest, FloatsCompareExactlyWithIntegers) {
  EXPECT_EQ(Holding(Value::Double(9007199254740992.0), "9007199254740993"), kLess);
  EXPECT_EQ(Holding(Value::Double(9007199254740992.0), "9007199254740992"), kSame);
  EXPECT_EQ(Holding(Value::Double(-0.0), "0"), kSame);
  EXPECT_EQ(Holding(Value::Decimal(5, 1), "0"), kGreater);
}

TEST(WhereTest, ADecimalIsTheFloatThatAnEventWouldHaveBrought) {
  EXPECT_EQ(Holding(Value::Decimal(9, 1), "0.9"), kSame);
  EXPECT_EQ(Holding(Value::Double(0.9), "0.90"), kSame);
  EXPECT_EQ(Holding(Value::Double(0.9), "9e-1"), kSame);
  EXPECT_EQ(Holding(Value::Decimal(91, 2), "0.9"), kGreater);
  EXPECT_EQ(Holding(Value::Int(0), "0.00000000000000000000000000001"), kLess);
  EXPECT_EQ(Holding(Value::Int(0), "-1e-999999999999999999999"), kGreater);
}

TEST(WhereTest, ANumberMayBeSpeltInAnyUsualWay) {
  for (const char* text : {"1000", "+1000", "01000", "1e3", "1000.", "1000.000", "10000e-1"}) {
    EXPECT_EQ(Holding(Value::Int(1000), text), kSame) << text;
    EXPECT_EQ(Holding(Value::Decimal(1000, 0), text), kSame) << text;
    EXPECT_EQ(Holding(Value::Int(-1), text), kLess) << text;
  }
}

TEST(WhereTest, TextComparesByBytes) {
  EXPECT_EQ(Holding(Value::String("abc"), "abd"), kLess);
  EXPECT_EQ(Holding(Value::String("abc"), "abc"), kSame);
  EXPECT_EQ(Holding(Value::String("\xc3\xa9"), "z"), kGreater);
  EXPECT_EQ(Holding(Value::String("10"), "9"), kLess);
  EXPECT_EQ(Holding(Value::String("10"), "10.0"), kLess);
  EXPECT_EQ(Holding(Value::Bytes("b"), "a"), kGreater);
}

TEST(WhereTest, ValuesOfAnotherKindAreUnequalAndNothingElse) {
  EXPECT_EQ(Holding(Value::Int(5), "five"), "!=");
  EXPECT_EQ(Holding(Value::Decimal(5, 1), ""), "!=");
  EXPECT_EQ(Holding(Value::Bool(true), "1"), "!=");
  EXPECT_EQ(Holding(Value::Int(1), "true"), "!=");
}

TEST(WhereTest, FalseIsLessThanTrue) {
  EXPECT_EQ(Holding(Value::Bool(false), "true"), kLess);
  EXPECT_EQ(Holding(Value::Bool(true), "true"), kSame);
  EXPECT_EQ(Holding(Value::Bool(true), "false"), kGreater);
}

TEST(WhereTest, AbsentComparesWithNothing) { EXPECT_EQ(Holding(Value(), "1"), ""); }

class WhereQueryTest : public QueryTest {
 protected:
  WhereQueryTest() {
    Begin(kMetric);
    Take(EventAt(1, R"("n":1,"a":5,"a>b":7,"s":"x","up":true)"));
    Take(EventAt(2, R"("n":2.5,"a":6,"a>b":3,"s":"y")"));
    Take(EventAt(3, R"("n":3,"big":9007199254740993)"));
  }
  // `query` is the part of a URL, decoded.
  std::vector<int> Times(const std::string& query) {
    std::vector<int> times;
    const json answer = Ask(query);
    for (const json& row : answer["rows"]) times.push_back(row[0]);
    return times;
  }
  std::string Refusal(const std::string& query) {
    const Response response = world().Call(GetEvents, {"server"}, query);
    EXPECT_EQ(response.status, 400u) << query;
    return json::parse(response.body)["detail"];
  }
};

TEST_F(WhereQueryTest, AllComparisonsMustHold) {
  EXPECT_EQ(Times("host=a&where=n>1"), (std::vector<int>{2, 3}));
  EXPECT_EQ(Times("host=a&where=n>1&where=n<3"), std::vector<int>{2});
  EXPECT_EQ(Times("host=a&where=n>=1&where=n!=2.5"), (std::vector<int>{1, 3}));
  EXPECT_EQ(Times("host=a&where=s=x"), std::vector<int>{1});
  EXPECT_EQ(Times("host=a&where=up=true"), std::vector<int>{1});
  EXPECT_EQ(Times("host=a&where=big>9007199254740992"), std::vector<int>{3});
  EXPECT_EQ(Times("host=a&where=big>9007199254740993"), std::vector<int>{});
  EXPECT_EQ(Times("host=a&where=host>=b"), std::vector<int>{});
  EXPECT_EQ(Times("host=a&where=host<b").size(), 3u);
}

TEST_F(WhereQueryTest, AnEventWithoutTheFieldDoesNotMatch) {
  EXPECT_EQ(Times("host=a&where=s!=nothing"), (std::vector<int>{1, 2}));
}

TEST_F(WhereQueryTest, WhatIsComparedIsNotAnsweredUnlessItIsAskedFor) {
  const json answer = Ask("host=a&fields=a&where=n>1");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","host","a"])"));
  EXPECT_EQ(answer["rows"], json::parse(R"([[2,"a",6]])"));
}

TEST_F(WhereQueryTest, StepsHoldOnlyWhatMatches) {
  EXPECT_EQ(Ask("host=a&fields=n&where=a>5&step=1h&agg=count")["rows"], json::parse("[[0,1]]"));
  EXPECT_EQ(Ask("host=a&fields=n&where=n<2.75&step=1h&agg=max")["rows"], json::parse("[[0,2.5]]"));
}

TEST_F(WhereQueryTest, TheLongestKnownFieldIsMeant) {
  EXPECT_EQ(Times("host=a&where=a>b>5"), std::vector<int>{1});
  EXPECT_EQ(Times("host=a&where=a>5"), std::vector<int>{2});
}

TEST_F(WhereQueryTest, MistakesAreNamed) {
  EXPECT_NE(Refusal("host=a&where=hots>1").find("'host'"), std::string::npos);
  for (const char* malformed : {"", "n", ">1", "n>", "n~1", "=", "n>=", "n>abc", "up>2"}) {
    EXPECT_NE(Refusal(std::string("host=a&where=") + malformed).find("expected FIELD"),
              std::string::npos)
        << malformed;
  }
  EXPECT_NE(Refusal("host=a&where=ts>1").find("from and to"), std::string::npos);
}

TEST_F(WhereQueryTest, ItIsNoFilterOfWhatIsRead) {
  EXPECT_EQ(world().Call(GetEvents, {"server"}, "where=n>1").status, 422u);
}

}  // namespace
}  // namespace tallyd

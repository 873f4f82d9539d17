#include "api/mutations/mutation_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::HasSubstr;

constexpr char kMutationReaderTables[] = R"(
[tables.T]
pattern = "new-cell"
row_key = "{k}"
columns = [{ family = "F", fields = ["v"] }]
families.F = {}
families.SUM = { aggregate = "sum", bucket = "1d" }
families.LOW = { aggregate = "min" }
families.USERS = { aggregate = "hll" }
)";

class MutationReaderTest : public ::testing::Test {
 protected:
  MutationReaderTest() {
    config_ = std::move(*ParseConfig(kMutationReaderTables, "test.toml"));
    for (const Family& family : table().families)
      stored_.families.push_back({family.name, true, family});
  }
  const Table& table() const { return config_.schema->tables.front(); }

  // Of one mutation: "", or the member and why it is refused.
  std::string Refusal(const std::string& mutation) {
    Read("{\"mutations\":[" + mutation + "]}");
    if (!list_) return list_.error().message();
    if (reader_->errors().empty()) return "";
    const EventError& error = reader_->errors().kept().front();
    return error.field + ": " + error.detail;
  }
  const Mutation& Taken(const std::string& mutation) {
    EXPECT_EQ(Refusal(mutation), "");
    return list_->front();
  }
  void Read(const std::string& body) {
    reader_ = std::make_unique<MutationReader>(stored_, table(), kAnyAdded);
    list_ = reader_->Read(body);
  }

  Config config_;
  TableInfo stored_;
  std::unique_ptr<MutationReader> reader_;
  Result<std::vector<Mutation>> list_ = std::vector<Mutation>();
};

TEST_F(MutationReaderTest, ASetHasColumnTimeAndValue) {
  const Mutation& set =
      Taken(R"({"set":{"family":"F","qualifier":"a b","ts":1425168000000.5,"value":558.40}})");
  EXPECT_EQ(set.kind, Mutation::Kind::kSet);
  EXPECT_EQ(stored_.families[*set.family].name, "F");
  EXPECT_EQ(*set.qualifier, "a b");
  EXPECT_EQ(set.time, 1'425'168'000'000'500);
  EXPECT_EQ(set.value, Value::Double(558.4));
}

TEST_F(MutationReaderTest, ValuesHaveEveryType) {
  const auto value = [&](const std::string& json) {
    return Taken(R"({"set":{"family":"F","qualifier":"q","ts":1,"value":)" + json + "}}").value;
  };
  EXPECT_EQ(value("9223372036854775807"), Value::Int(INT64_MAX));
  EXPECT_EQ(value("-1"), Value::Int(-1));
  EXPECT_EQ(value("true"), Value::Bool(true));
  EXPECT_EQ(value(R"("t\u00e9xt")"), Value::String("t\u00e9xt"));
  EXPECT_EQ(value(R"({"base64":"AP8="})"), Value::Bytes(std::string_view("\0\xff", 2)));
  EXPECT_EQ(value(R"({"base64":""})"), Value::Bytes(""));
}

TEST_F(MutationReaderTest, ValuesThatAreNoneAreRefused) {
  for (const char* json : {"null", "[1]", "9223372036854775808", "1e999", "tru", "1x", "{}",
                           R"({"base64":"AP8"})", R"({"base64":"A*8="})", R"({"base64":7})",
                           R"({"base64":"","more":1})", R"({"base46":""})"}) {
    EXPECT_NE(Refusal(std::string(R"({"set":{"family":"F","qualifier":"q","ts":1,"value":)") +
                      json + "}}"),
              "")
        << json;
  }
}

TEST_F(MutationReaderTest, AKindOfFamilyTakesItsKindOfMutation) {
  EXPECT_THAT(Refusal(R"({"set":{"family":"SUM","qualifier":"q","ts":1,"value":1}})"),
              HasSubstr("family: SUM is an aggregate family (sum): it takes add and merge"));
  EXPECT_THAT(Refusal(R"({"add":{"family":"F","qualifier":"q","ts":1,"value":1}})"),
              HasSubstr("family: F is a plain family: it takes set"));
  EXPECT_THAT(Refusal(R"({"merge":{"family":"F","qualifier":"q","ts":1,"value":1}})"),
              HasSubstr("it takes set"));
}

TEST_F(MutationReaderTest, AnUndeclaredFamilyIsRefusedWithThoseThatThereAre) {
  for (const char* kind : {"set", "add", "merge", "delete"}) {
    EXPECT_THAT(Refusal(std::string("{\"") + kind + R"(":{"family":"NO","qualifier":"q"}})"),
                HasSubstr("table T has no family \"NO\"; accepted are F, LOW (min), SUM (sum), "
                          "USERS (hll)"));
  }
}

TEST_F(MutationReaderTest, AnAddIsAnInputOfItsFamily) {
  const Mutation& add =
      Taken(R"({"add":{"family":"SUM","qualifier":"q","ts":86400001,"value":25}})");
  EXPECT_EQ(add.value, Value::Int(25));
  EXPECT_EQ(add.time, kUsPerDay) << "the beginning of its bucket";
  EXPECT_TRUE(
      IsState(Aggregate::kHll,
              Taken(R"({"add":{"family":"USERS","qualifier":"q","ts":1,"value":"ann"}})").value));
  for (const char* value : {"\"7\"", "1.5", "true", "9223372036854775808", R"({"base64":""})"}) {
    EXPECT_NE(Refusal(std::string(R"({"add":{"family":"SUM","qualifier":"q","ts":1,"value":)") +
                      value + "}}"),
              "")
        << value;
  }
  EXPECT_NE(Refusal(R"({"add":{"family":"USERS","qualifier":"q","ts":1,"value":7}})"), "");
}

TEST_F(MutationReaderTest, AMergeTakesIntegersOf128BitsToTheLastDigit) {
  const std::string digits = "170141183460469231731687303715884105727";
  const auto merged = [&](const std::string& json) {
    const Mutation& merge =
        Taken(R"({"merge":{"family":"SUM","qualifier":"q","ts":1,"value":)" + json + "}}");
    std::string text;
    AppendInt128(*ReadState(Aggregate::kSum, merge.value), &text);
    return text;
  };
  EXPECT_EQ(merged(digits), digits);
  EXPECT_EQ(merged("\"" + digits + "\""), digits);
  EXPECT_EQ(merged("-170141183460469231731687303715884105728"),
            "-170141183460469231731687303715884105728");
  EXPECT_EQ(merged("9007199254740993"), "9007199254740993");
  for (const char* value : {"170141183460469231731687303715884105728", "\"\"", "\"1.0\"", "1e3",
                            "1.0", "true", R"({"base64":"AAAA"})"}) {
    EXPECT_NE(Refusal(std::string(R"({"merge":{"family":"SUM","qualifier":"q","ts":1,"value":)") +
                      value + "}}"),
              "")
        << value;
  }
  EXPECT_NE(Refusal(R"({"merge":{"family":"LOW","qualifier":"q","ts":1,"value":)" + digits + "}}"),
            "");
  EXPECT_NE(Refusal(R"({"merge":{"family":"USERS","qualifier":"q","ts":1,"value":"ann"}})"), "");
}

TEST_F(MutationReaderTest, TheTimeIsRequired) {
  for (const auto& [kind, family] : {std::pair("set", "F"), {"add", "SUM"}, {"merge", "SUM"}}) {
    const std::string begin =
        std::string("{\"") + kind + R"(":{"family":")" + family + R"(","qualifier":"q","value":1)";
    EXPECT_THAT(Refusal(begin + "}}"), HasSubstr("ts: "));
    EXPECT_THAT(Refusal(begin + R"(,"ts":-1}})"), HasSubstr("ts: "));
    EXPECT_THAT(Refusal(begin + R"(,"ts":10000000000000}})"), HasSubstr("ts: "));
    EXPECT_THAT(Refusal(begin + R"(,"ts":true}})"), HasSubstr("ts: "));
  }
}

TEST_F(MutationReaderTest, ADeleteNarrowsFromTheRow) {
  const Mutation row = Taken(R"({"delete":{}})");
  EXPECT_FALSE(row.family || row.qualifier);
  EXPECT_TRUE(row.cells.is_open());
  const Mutation range =
      Taken(R"({"delete":{"family":"F","qualifier":"q","from":1.5,"to":10000000000000}})");
  EXPECT_EQ(*range.qualifier, "q");
  EXPECT_EQ(range.cells, (TimeRange{1500, kMaxTimeUs + 1}));
  EXPECT_TRUE(Taken(R"({"delete":{"from":5}})").cells == (TimeRange{5000, kMaxTimeUs + 1}));
  EXPECT_THAT(Refusal(R"({"delete":{"qualifier":"q"}})"), HasSubstr("family: "));
  EXPECT_THAT(Refusal(R"({"delete":{"from":2,"to":1}})"), HasSubstr("from: it lies after to"));
  EXPECT_THAT(Refusal(R"({"delete":{"family":"F","qualifier":"q","ts":1}})"), HasSubstr("ts: "));
}

TEST_F(MutationReaderTest, LimitsOfNamesAreKept) {
  const auto set = [&](size_t bytes) {
    return Refusal(R"({"set":{"family":"F","qualifier":")" + std::string(bytes, 'q') +
                   R"(","ts":1,"value":1}})");
  };
  EXPECT_EQ(set(16'384), "");
  EXPECT_THAT(set(16'385), HasSubstr("qualifier: "));
}

TEST_F(MutationReaderTest, EveryRefusedMutationIsNamedByItsPlace) {
  Read(R"({"mutations":[{"set":{}},{"delete":{}},{"delete":7},{"put":{}},{},[],
          {"delete":{},"set":{}}]})");
  ASSERT_TRUE(list_) << list_.error().message();
  EXPECT_EQ(list_->size(), 7u);
  std::vector<size_t> places;
  for (const EventError& error : reader_->errors().kept()) places.push_back(error.index);
  EXPECT_EQ(places, (std::vector<size_t>{0, 2, 3, 4, 5, 6}));
}

TEST_F(MutationReaderTest, ABodyThatIsNoListIsRefusedWhole) {
  for (const char* body :
       {"", "[]", "{}", "7", "{\"mutations\":{}}", "{\"mutations\":[]", "{\"mutations\":[}",
        "{\"mutations\":[{\"delete\":{}]}", "{\"mutations\":[],\"mutations\":[]}", "{\"more\":1}",
        "{\"mutations\":[]} x", "{\"mutations\":[]}{}",
        "{\"mutations\":[{\"delete\":{\"family\":\"\xff\"}}]}"}) {
    Read(body);
    EXPECT_FALSE(list_) << body;
  }
  Read("{\"mutations\":[]}");
  EXPECT_TRUE(list_ && list_->empty());
  Read("[{\"delete\":{}}]");
  EXPECT_THAT(list_.error().message(), HasSubstr("{\"mutations\": [...]}: it is no object"));
  Read("{\"mutations\":{\"delete\":{}}}");
  EXPECT_THAT(list_.error().message(), HasSubstr("\"mutations\" is no list"));
}

}  // namespace
}  // namespace tallyd

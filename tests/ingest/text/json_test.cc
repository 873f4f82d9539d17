#include "ingest/text/json.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(JsonTest, MembersKeepTheirOrder) {
  EXPECT_EQ(Dump({{"z", 1}, {"a", true}, {"m", nullptr}}), R"({"z":1,"a":true,"m":null})");
}

TEST(JsonTest, BytesThatAreNoTextAreBase64) {
  EXPECT_EQ(Dump(JsonOfText("gr\u00fcn\"\n")), "\"gr\u00fcn\\\"\\n\"");
  EXPECT_EQ(Dump(JsonOfText("\xff\x01")), R"({"base64":"/wE="})");
  EXPECT_EQ(JsonName("gr\u00fcn"), "gr\u00fcn");
  EXPECT_EQ(JsonName("\xff\x01"), "base64:/wE=");
}

TEST(JsonTest, NoBytesMakeADumpFail) {
  EXPECT_EQ(Dump({{"a\xff", "\xc3("}}), "{\"a\xef\xbf\xbd\":\"\xef\xbf\xbd(\"}");
}

TEST(JsonTest, IntegersOf64BitsStayExact) {
  EXPECT_EQ(Dump({UINT64_MAX, INT64_MIN, INT64_MAX}),
            "[18446744073709551615,-9223372036854775808,9223372036854775807]");
}

TEST(JsonTest, TimesAreMillisecondsWithDecimalsWhereNeeded) {
  EXPECT_EQ(Dump(JsonOfTime(1'700'000'000'000'000)), "1700000000000");
  EXPECT_EQ(Dump(JsonOfTime(1'700'000'000'000'250)), "1700000000000.25");
  EXPECT_EQ(Dump(JsonOfTime(1'700'000'000'000'001)), "1700000000000.001");
  EXPECT_EQ(Dump(JsonOfTime(0)), "0");
}

TEST(JsonTest, SecondsHaveThreeDecimals) {
  EXPECT_EQ(Dump(JsonOfSeconds(1'234'567)), "1.235");
  EXPECT_EQ(Dump(JsonOfSeconds(0)), "0.0");
  EXPECT_EQ(Dump(JsonOfSeconds(-40'000'000)), "-40.0");
}

TEST(JsonTest, MembersOfAStoreAreAnObjectOrAList) {
  const StoreMember::Members members = {
      {"open", true},
      {"bytes", uint64_t{1} << 63},
      {"none", StoreMember::Members{}},
      {"files", StoreMember::Members{{"", std::string("a")}, {"", std::string("\xff")}}},
      {"of", StoreMember::Members{{"deep", StoreMember::Members{{"why", std::string("x")}}}}}};
  EXPECT_EQ(Dump(JsonOfMembers(members)),
            R"({"open":true,"bytes":9223372036854775808,"none":[],)"
            R"("files":["a",{"base64":"/w=="}],"of":{"deep":{"why":"x"}}})");
}

TEST(JsonTest, MembersAreAddedToAnObjectThatIsBeingWritten) {
  std::string out = R"({"rows":[])";
  AppendMembers({{"expired", 2}, {"note", "}"}}, &out);
  EXPECT_EQ(out, R"({"rows":[],"expired":2,"note":"}")");
  AppendMembers(Json::object(), &out);
  EXPECT_EQ(out, R"({"rows":[],"expired":2,"note":"}")");
}

}  // namespace
}  // namespace tallyd

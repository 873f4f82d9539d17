#include "ingest/text/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tallyd {
namespace {

std::string JsonText(const Value& value) {
  std::string out;
  AppendJsonValue(value, &out);
  return out;
}

TEST(JsonTextTest, ValuesKeepTheirTypes) {
  EXPECT_EQ(JsonText(Value()), "null");
  EXPECT_EQ(JsonText(Value::Int(-7)), "-7");
  EXPECT_EQ(JsonText(Value::Double(7)), "7.0");
  EXPECT_EQ(JsonText(Value::Decimal(2, 2)), "0.02");
  EXPECT_EQ(JsonText(Value::Bool(true)), "true");
  EXPECT_EQ(JsonText(Value::String("a\"\n\\é")), "\"a\\\"\\n\\\\é\"");
  EXPECT_EQ(JsonText(Value::Bytes(std::string_view("\0\x01\xff", 3))), R"({"base64":"AAH/"})");
}

TEST(JsonTextTest, EveryByteOfTextIsValidJson) {
  for (int byte = 0; byte < 128; ++byte) {
    const std::string text = "<" + std::string(1, static_cast<char>(byte)) + ">";
    std::string out;
    AppendJsonString(text, &out);
    EXPECT_EQ(nlohmann::json::parse(out).get<std::string>(), text) << byte;
  }
}

TEST(JsonTextTest, TextThatIsNotUtf8BecomesBase64) {
  std::string out;
  AppendJsonString("\xff\xfe", &out);
  EXPECT_EQ(nlohmann::json::parse(out)["base64"], "//4=");
}

TEST(JsonTextTest, TimesCarryDecimalsWhereTheyAreFiner) {
  std::string out;
  AppendJsonTime(1'426'535'612'045'000, &out);
  out += " ";
  AppendJsonTime(1'426'535'612'045'120, &out);
  EXPECT_EQ(out, "1426535612045 1426535612045.12");
}

TEST(JsonTextTest, Base64PadsToFour) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foo"), "Zm9v");
}

TEST(JsonTextTest, Base64ComesBackOrIsRefused) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  for (size_t size = 0; size <= every.size(); ++size) {
    std::string bytes;
    ASSERT_TRUE(DecodeBase64(EncodeBase64(every.substr(0, size)), &bytes));
    EXPECT_EQ(bytes, every.substr(0, size));
  }
  for (const char* wrong : {"A", "AA", "AAA", "A===", "====", "AA=A", "AA-_", "AAA\n", "A A="}) {
    std::string bytes;
    EXPECT_FALSE(DecodeBase64(wrong, &bytes)) << wrong;
  }
}

}  // namespace
}  // namespace tallyd

// JSON is cut where its parts end, and nothing of them changes.
#include "tools/copy/json_slices.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

std::string Cut(std::string_view text) {
  std::vector<JsonSlice> slices;
  if (!CutJson(text, &slices)) return "no";
  std::string shown;
  for (const auto& [name, value] : slices) {
    shown += std::string(name) + "=" + std::string(value) + ";";
  }
  return shown;
}

TEST(JsonSlicesTest, MembersStayAsTheyAreSpelled) {
  EXPECT_EQ(Cut(R"({"a":1.50,"b":"x","c":-0.0,"d":true})"),
            R"("a"=1.50;"b"="x";"c"=-0.0;"d"=true;)");
  EXPECT_EQ(Cut(R"({"sum":170141183460469231731687303715884105727})"),
            R"("sum"=170141183460469231731687303715884105727;)");
  EXPECT_EQ(Cut("{}"), "");
}

TEST(JsonSlicesTest, TextMayHoldWhatLooksLikeAnEnd) {
  EXPECT_EQ(Cut(R"({"}],":"\"}]\\","b":2})"), R"("}],"="\"}]\\";"b"=2;)");
}

TEST(JsonSlicesTest, WhatIsNestedComesWhole) {
  EXPECT_EQ(Cut(R"({"a":{"b":[1,{"c":"}"}]},"d":[]})"), R"("a"={"b":[1,{"c":"}"}]};"d"=[];)");
  EXPECT_EQ(Cut(" [1, {\"a\": 2}, \"x\"] "), R"(=1;={"a": 2};="x";)");
}

TEST(JsonSlicesTest, WhatIsNoneOrBreaksOffIsNot) {
  for (const char* text : {"", "1", "{", R"({"a")", R"({"a":)", R"({"a":1)", R"({"a":"x)",
                           R"({"a":1}x)", R"({"a":{})", "[1", "[1,", "{\"a\\"}) {
    EXPECT_EQ(Cut(text), "no") << text;
  }
}

TEST(JsonSlicesTest, LinesHaveNoEndsAndEmptyOnesAreLeftOut) {
  EXPECT_EQ(LinesOf("{}\n\n[1]\n{\"a\":1}"),
            (std::vector<std::string_view>{"{}", "[1]", "{\"a\":1}"}));
  EXPECT_TRUE(LinesOf("\n").empty());
  EXPECT_TRUE(LinesOf("").empty());
}

TEST(JsonSlicesTest, AStringIsReadWithItsEscapes) {
  EXPECT_EQ(TextOfSlice(R"("a\"\u00e9")"), "a\"é");
  EXPECT_FALSE(TextOfSlice("7"));
}

}  // namespace
}  // namespace tallyd

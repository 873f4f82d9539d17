#include "config/schema/column_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  const char* columns;
  const char* clash;  // Null: none.
  const char* row_key = "{k}#{ts:ms}";
};

class ColumnClaimsTest : public testing::TestWithParam<Case> {};

TEST_P(ColumnClaimsTest, TellsWhatTwoWriteForCertain) {
  const Result<Config> config = ParseConfig(
      "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"" +
          std::string(GetParam().row_key) + "\"\nfamilies.f = {}\nfamilies.g = {}\ncolumns = [" +
          GetParam().columns + "]\n",
      "test.toml");
  if (GetParam().clash == nullptr) {
    EXPECT_TRUE(config) << config.error().message();
  } else {
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message(), HasSubstr("tables.T.columns: "));
    EXPECT_THAT(config.error().message(), HasSubstr(GetParam().clash));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ColumnClaimsTest,
    testing::Values(
        Case{"TwoSpellings", R"({family="f",fields=["Bid size","BIDSIZE"],names="compact"})",
             nullptr},
        Case{"RenameOntoACompactName",
             R"({family="f",fields=["a","Bid size"],names="compact",rename={a="BIDSIZE"}})",
             R"(both field "a" and columns[0] write column f:BIDSIZE)"},
        Case{"RenameOntoANamedField", R"({family="f",fields=["a","b"],rename={a="b"}})",
             R"(both field "a" and field "b" write column f:b)"},
        Case{"RenamesThatSwap", R"({family="f",fields=["a","b"],rename={a="b",b="a"}})", nullptr},
        Case{"RenameOntoAFieldThatMayCome", R"({family="f",rename={a="b"}})", nullptr},
        Case{"TwoOpenRules", R"({family="f"},{family="f"})",
             "both columns[0] and columns[1] write column f:{field}"},
        Case{"TwoFamilies", R"({family="f"},{family="g"})", nullptr},
        Case{"AGlobWithinAGlob", R"({family="f",fields=["C*"]},{family="f",fields=["CPU/*"]})",
             "both columns[0] and columns[1]"},
        Case{"GlobsApart", R"({family="f",fields=["CPU/*"]},{family="f",fields=["IO/*"]})",
             nullptr},
        Case{"AFieldBesideAllOthers", R"({family="f"},{family="f",fields=["a"]})",
             R"(both columns[0] and columns[1], for field "a", write column f:a)"},
        Case{"ARenamedFieldBesideAllOthers",
             R"({family="f"},{family="f",fields=["a"],rename={a="A"}})", nullptr},
        Case{"TwoConstants",
             R"({family="f",name="ID",value="{a}"},{family="f",name="ID",value="{b}"})",
             "both columns[0] and columns[1] write column f:ID"},
        Case{"TwoOfOneTime",
             R"({family="f",name="{ts:%H}",value="{a}"},{family="f",name="{ts:%H}",value="{b}"})",
             "both columns[0] and columns[1] write column f:{ts:%H}"},
        Case{"TwoFieldsOfOneConstant", R"({family="f",name="x",fields=["a","b"]})",
             R"(both field "a" and field "b" write column f:x)"},
        Case{"ABlobAndAConstant",
             R"({family="f",serialize="json",name="b"},{family="f",name="b",value="{a}"})",
             "both columns[0] and columns[1] write column f:b"},
        Case{"FieldsWithRowsOfTheirOwn", R"({family="f",name="x",fields=["a","b"]})", nullptr,
             "{k}#{field}#{ts:ms}"},
        Case{"OneFieldTwiceInItsRow", R"({family="f",name="x"},{family="f",name="x",fields=["b"]})",
             R"(both columns[0] and field "b" write column f:x)", "{k}#{field}#{ts:ms}"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tallyd

#include "config/columns/name_doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// The rules of a table, each by its place, and the place of the other.
std::vector<std::pair<size_t, size_t>> DoubtsOf(const std::string& columns) {
  const Result<Config> config = ParseConfig(
      "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"{h}#{ts:ms}\"\n"
      "columns = [" +
          columns + "]\nfamilies.F = {}\nfamilies.G = {}\n",
      "test.toml");
  EXPECT_TRUE(config) << config.error().message();
  std::vector<std::pair<size_t, size_t>> doubts;
  if (!config) return doubts;
  for (const NameDoubt& doubt : NameDoubtsOf(config->schema->tables[0])) {
    doubts.emplace_back(doubt.rule, doubt.other);
  }
  return doubts;
}

TEST(NameDoubtsTest, TextsOfSeveralVaryingPartsAreInDoubt) {
  EXPECT_THAT(DoubtsOf(R"({ family = "F", name = "{a}-{b}", value = "{v}" })"),
              ElementsAre(Pair(0, 0)));
  EXPECT_THAT(DoubtsOf(R"({ family = "F", name = "c", value = "{a} {v}" })"),
              ElementsAre(Pair(0, 0)));
  EXPECT_THAT(DoubtsOf(R"({ family = "F", name = "{a}-{ts:ms}", value = "{v}" })"), IsEmpty());
}

TEST(NameDoubtsTest, RulesThatMayMakeOneNameAreInDoubt) {
  for (const char* columns :
       {R"({ family = "F", name = "{a}", value = "{x}" },
           { family = "F", name = "{b}", value = "{y}" })",
        R"({ family = "F", fields = ["a*"], name = "m_{field}" },
           { family = "F", fields = ["m_*"] })",
        R"({ family = "F", fields = ["x*"], names = "compact" },
           { family = "F", fields = ["X*"] })",
        R"({ family = "F", name = "{k}", value = "{v}" }, { family = "F", fields = ["c*"] })"}) {
    EXPECT_THAT(DoubtsOf(columns), ElementsAre(Pair(1, 0))) << columns;
  }
}

TEST(NameDoubtsTest, RulesThatTheFileTellsApartAreNot) {
  for (const char* columns :
       {R"({ family = "F", name = "a_{a}", value = "{x}" },
           { family = "F", name = "b_{b}", value = "{y}" })",
        R"({ family = "F", name = "{a}", value = "{x}" },
           { family = "G", name = "{b}", value = "{y}" })",
        R"({ family = "F", name = "ID", value = "{id}" }, { family = "F", fields = ["c*"] })",
        R"({ family = "F", fields = ["a*"] }, { family = "F", fields = ["b*"] })",
        R"({ family = "F", fields = ["ab"], names = "compact" },
           { family = "F", fields = ["c*"] })"}) {
    EXPECT_THAT(DoubtsOf(columns), IsEmpty()) << columns;
  }
}

}  // namespace
}  // namespace tallyd

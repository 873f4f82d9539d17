#include "config/values/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Match {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(GlobTest, StarIsAnyRunAndQuestionMarkOneByte) {
  for (const Match& m : {Match{"CPU/*", "CPU/CPU1_USR", true},
                         Match{"CPU/*", "CPU/", true},
                         Match{"CPU/*", "IO/CPU/", false},
                         Match{"*", "", true},
                         Match{"", "", true},
                         Match{"", "a", false},
                         Match{"**", "a", true},
                         Match{"*_USR", "CPU/CPU1_USR", true},
                         Match{"*_USR", "CPU/CPU1_USR2", false},
                         Match{"*U*U*", "CPU/CPU1", true},
                         Match{"*U*U*U*", "CPU/CPU1", false},
                         Match{"a*b*c", "aXbXbc", true},
                         Match{"a*bc", "abcabc", true},
                         Match{"CPU?_USR", "CPU1_USR", true},
                         Match{"CPU?_USR", "CPU_USR", false},
                         Match{"?", "", false},
                         Match{"hostname", "hostname", true},
                         Match{"hostname", "hostnames", false},
                         Match{"[a]", "a", false},
                         Match{"[a]", "[a]", true},
                         Match{"a.c", "abc", false},
                         Match{"\\*", "\\x", true}}) {
    EXPECT_EQ(GlobMatches(m.pattern, m.text), m.matches) << m.pattern << " on " << m.text;
  }
}

TEST(GlobTest, ManyStarsTakeNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(GlobMatches(pattern + "b", std::string(5'000, 'a')));
}

TEST(GlobTest, OnlyWildcardsMakeAGlob) {
  EXPECT_TRUE(IsGlob("CPU/*"));
  EXPECT_TRUE(IsGlob("CPU?"));
  EXPECT_FALSE(IsGlob("Bid size"));
  EXPECT_FALSE(IsGlob("[a]"));
}

TEST(NearestNamesTest, BestComeFirst) {
  const std::vector<std::string> names = {"pattern", "row_key", "stream", "columns", "families"};
  EXPECT_THAT(NearestNames("patern", names, 1), ElementsAre("pattern"));
  EXPECT_THAT(NearestNames("steam", names, 2), ElementsAre("stream", "pattern"));
  EXPECT_THAT(NearestNames("x", names, 10), SizeIs(5));
  EXPECT_THAT(NearestNames("x", {}, 3), IsEmpty());
}

TEST(NearestNamesTest, TheOtherCaseIsNearerThanAnotherLetter) {
  EXPECT_THAT(NearestNames("HOST", {"cost", "host"}, 1), ElementsAre("host"));
}

TEST(NearestNamesTest, TiesGoByName) {
  EXPECT_THAT(NearestNames("c", {"b", "a"}), ElementsAre("a", "b"));
}

TEST(NearestNamesTest, LongNamesCostNoMoreThanShortOnes) {
  const std::vector<std::string> names(2'000, std::string(16'000, 'a'));
  EXPECT_THAT(NearestNames(std::string(16'000, 'b'), names, 1), SizeIs(1));
}

}  // namespace
}  // namespace tallyd

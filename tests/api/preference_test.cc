#include "api/preference.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

std::string Show(std::string_view header) {
  std::string all;
  for (const Preference& preference : ParsePreferences(header)) {
    all += preference.name + " " + std::to_string(preference.weight) + "\n";
  }
  return all;
}

TEST(PreferenceTest, MembersComeInOrderInLowerCaseAndWithTheirWeights) {
  EXPECT_EQ(Show("Text/CSV;header=present ; Q=0.5,, application/json, */*;q=0.001"),
            "text/csv 500\napplication/json 1000\n*/* 1\n");
  EXPECT_EQ(Show(""), "");
  EXPECT_EQ(Show(" , ,;q=1"), "");
}

TEST(PreferenceTest, AWeightHasThreeDecimalsAndEndsAtOne) {
  for (const auto& [text, weight] : {std::pair<const char*, int>{"1", 1000},
                                     {"1.000", 1000},
                                     {"0", 0},
                                     {"0.", 0},
                                     {"0.25", 250},
                                     {"0.999", 999},
                                     {"1.001", 0},
                                     {"2", 0},
                                     {"0.1234", 0},
                                     {"-1", 0},
                                     {"", 0},
                                     {"x", 0},
                                     {"0x1", 0},
                                     {".5", 0},
                                     {"1e0", 0}}) {
    EXPECT_EQ(Show(std::string("gzip;q=") + text), "gzip " + std::to_string(weight) + "\n") << text;
  }
}

}  // namespace
}  // namespace tallyd

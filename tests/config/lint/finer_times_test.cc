#include "config/lint/finer_times.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> FinerTimesIn(const std::string& unit, const std::string& row_key) {
  const Result<Config> config =
      ParseConfig(fmt::format("[streams.s]\nunit = \"{}\"\n[tables.T]\nstream = \"s\"\npattern = "
                              "\"single-timestamp\"\nrow_key = \"{}\"\nfamilies.F = {{}}\n",
                              unit, row_key),
                  "t.toml");
  EXPECT_TRUE(config) << config.error().message();
  return config ? FindFinerTimes(*config->schema) : std::vector<std::string>();
}

TEST(FinerTimesTest, UnitsBelowAMillisecondAreFiner) {
  EXPECT_THAT(FinerTimesIn("us", "{k}#{ts:ms}"),
              ElementsAre(StartsWith("streams.s.unit: us is finer")));
  EXPECT_THAT(FinerTimesIn("ns", "{k}#{ts:ms}"),
              ElementsAre(StartsWith("streams.s.unit: ns is finer")));
  EXPECT_THAT(FinerTimesIn("ms", "{k}#{ts:ms}"), IsEmpty());
  EXPECT_THAT(FinerTimesIn("s", "{k}#{ts:s}"), IsEmpty());
}

TEST(FinerTimesTest, KeysThatTellMicrosecondsAreFiner) {
  EXPECT_THAT(FinerTimesIn("ms", "{k}#{ts:us}"),
              ElementsAre(StartsWith("tables.T.row_key: {k}#{ts:us} tells microseconds")));
}

}  // namespace
}  // namespace tallyd

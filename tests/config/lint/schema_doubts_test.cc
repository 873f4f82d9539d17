#include "config/lint/schema_doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "config/file/config.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Doubts(const std::string& row_key, const std::string& rest = "",
                                const std::string& streams = "") {
  const Result<Config> config =
      ParseConfig(streams + "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\n" +
                      "row_key = \"" + row_key + "\"\nfamilies.f = {}\n" + rest,
                  "test.toml");
  if (!config) throw std::runtime_error(config.error().message());
  return FindDoubts(*config->schema);
}

constexpr const char* kDeclared = "[streams.s.fields]\nhostname = {}\nCPU1 = {}\n";

// Else it is a mistake, and no doubt.
constexpr char kTimeIsDeclared[] = "[streams.s]\ntime = \"ts\"\n";

TEST(SchemaDoubtsTest, APeriodOfAFieldOneLetterFromTheTimeRefusesEveryEvent) {
  for (const char* key : {"{k}#{tss:ms}", "{k}#{t:day}", "{k}#{is:%Y%m%d}", "{k}#{TS:ms}"}) {
    EXPECT_THAT(Doubts(key, "", kTimeIsDeclared),
                ElementsAre(HasSubstr("every event without it is refused; the time is \"ts\"")))
        << key;
  }
  EXPECT_THAT(Doubts("{k}#{tss:ms}", "", kTimeIsDeclared),
              ElementsAre(HasSubstr("tables.T.row_key: no field \"tss\"")));
}

TEST(SchemaDoubtsTest, ASecondTimeThatIsMeantIsNoDoubt) {
  EXPECT_THAT(Doubts("{k}#{due:day}#{ts:ms}"), IsEmpty());
  EXPECT_THAT(Doubts("{k}#{t2:day}#{t1:ms}", "time = \"t1\"\n"), IsEmpty());
  EXPECT_THAT(Doubts("{k}#{tss:day}#{ts:ms}", "when = [\"tss\"]\n"), IsEmpty());
  EXPECT_THAT(Doubts("{k}#{tss:day}#{ts:ms}", "", "[streams.s.fields]\ntss = {}\n"), IsEmpty());
}

TEST(SchemaDoubtsTest, AMisspeltFieldIsFoundBesideADeclaredOne) {
  EXPECT_THAT(Doubts("{hostnam}#{ts:ms}", "", kDeclared),
              ElementsAre(HasSubstr("streams.s.fields has \"hostname\"")));
  EXPECT_THAT(Doubts("{hostname}#{ts:ms}", "when = [\"Hostname\"]\n", kDeclared),
              ElementsAre(HasSubstr("tables.T.when: no field \"Hostname\"")));
  EXPECT_THAT(
      Doubts("{hostname}#{ts:ms}",
             "columns = [{ family = \"f\", fields = [\"CPU2\", \"CPU\", \"IO\"] }]\n", kDeclared),
      IsEmpty());
}

TEST(SchemaDoubtsTest, ARuleThatNothingCanMatchIsFound) {
  const auto fields = [](const std::string& list) {
    return Doubts("{hostname}#{ts:ms}",
                  "columns = [{ family = \"f\", fields = [" + list + "] }]\n");
  };
  EXPECT_THAT(fields("\"host*\""), ElementsAre(HasSubstr("matches \"hostname\", which a glob does "
                                                         "not take")));
  EXPECT_THAT(fields("\"host*\", \"hostid\""), IsEmpty());
  EXPECT_THAT(fields("\"*\""), IsEmpty());
  EXPECT_THAT(fields("\"CPU/*\""), IsEmpty());
  EXPECT_THAT(Doubts("{k}#{ts:day}",
                     "columns = [{ family = \"f\", name = \"{tss:%H%M}\", value = \"{v}\" }]\n"),
              ElementsAre(HasSubstr("tables.T.columns[0].name: no field \"tss\"")));
}

TEST(SchemaDoubtsTest, ATimeIsWiderThanFewDigits) {
  EXPECT_THAT(Doubts("{k}#{ts:zero(10)}"), ElementsAre(HasSubstr("a time of 13 digits")));
  EXPECT_THAT(Doubts("{k}#{ts:zero(13)}"), IsEmpty());
  EXPECT_THAT(Doubts("{k}#{ts:zero(10)}", "", "[streams.s]\nunit = \"s\"\n"), IsEmpty());
}

}  // namespace
}  // namespace tallyd

// Every proposal is a configuration that the daemon takes, without doubts.
#include "tools/advise/proposal.h"

#include <gtest/gtest.h>

#include "config/file/config.h"
#include "config/lint/schema_doubts.h"

namespace tallyd {
namespace {

Sample Every(int64_t us) {
  Sample sample;
  sample.entities[{"a"}] = 1001;
  sample.events = 1001;
  sample.times = {0, 1000 * us + 1};
  return sample;
}

std::string KeyOf(const AdviseSubject& subject, const Sample& sample, const char* pattern) {
  for (const Proposal& proposal : Propose(subject, sample, NamesFor(subject.stream, {}))) {
    if (std::string_view(proposal.pattern) != pattern) continue;
    const Config config = ParseConfig(proposal.toml, "test.toml").value();
    return std::string(config.schema->tables[0].row_key.text());
  }
  return "";
}

TEST(ProposalTest, EachIsAConfigurationWithoutDoubts) {
  const AdviseSubject subjects[] = {
      {"server", "ts", TimeUnit::kMilliseconds, {"hostname"}},
      {"my-stream.2", "when", TimeUnit::kMicroseconds, {"site/region", "balloon"}}};
  for (const AdviseSubject& subject : subjects) {
    for (const Proposal& proposal :
         Propose(subject, Every(1'000'000), NamesFor(subject.stream, {}))) {
      for (const std::string& before : {StreamSection(subject), std::string()}) {
        const Result<Config> config = ParseConfig(before + proposal.toml, "test.toml");
        ASSERT_TRUE(config) << config.error().message();
        EXPECT_EQ(FindDoubts(*config->schema), std::vector<std::string>()) << proposal.toml;
        EXPECT_EQ(config->schema->tables[0].time_field, subject.time_field);
      }
    }
  }
}

TEST(ProposalTest, ABucketIsTheLongestThatStaysBounded) {
  const AdviseSubject subject{"server", "ts", TimeUnit::kMilliseconds, {"hostname"}};
  EXPECT_EQ(KeyOf(subject, Every(60 * kUsPerSecond), "new-cell"), "{hostname}#{ts:week}");
  EXPECT_EQ(KeyOf(subject, Every(10 * kUsPerSecond), "new-cell"), "{hostname}#{ts:day}");
  EXPECT_EQ(KeyOf(subject, Every(kUsPerSecond), "new-column"), "{hostname}#{field}#{ts:hour}");
  EXPECT_EQ(KeyOf(subject, Every(1000), "new-cell"), "{hostname}#{ts:minute}");
}

TEST(ProposalTest, NamesAreNeverTaken) {
  EXPECT_EQ(NamesFor("server", {}).history, "SERVER");
  EXPECT_EQ(NamesFor("server", {}).latest, "CURRENT_SERVER");
  EXPECT_EQ(NamesFor("server", {"CURRENT_SERVER"}).history, "SERVER_2");
  EXPECT_EQ(NamesFor("2.x", {}).history, "T_2_X");
}

}  // namespace
}  // namespace tallyd

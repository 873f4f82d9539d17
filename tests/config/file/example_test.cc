// config/example.toml is what a newcomer starts with: it loads, and it has the four worlds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::UnorderedElementsAre;

class ExampleTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<Config> config = LoadConfig(TALLYD_SOURCE_DIR "/config/example.toml");
    ASSERT_TRUE(config) << config.error().message();
    config_ = std::move(*config);
  }

  std::vector<std::string> TablesOf(std::string_view stream) const {
    std::vector<std::string> names;
    for (const size_t table : config_.schema->FindStream(stream)->tables) {
      names.push_back(config_.schema->tables[table].name);
    }
    return names;
  }

  Config config_;
};

TEST_F(ExampleTest, HasTheFourWorlds) {
  EXPECT_THAT(TablesOf("server"), UnorderedElementsAre("METRIC", "CURRENT_METRIC"));
  EXPECT_THAT(TablesOf("market"), UnorderedElementsAre("QUOTE", "TRADE"));
  EXPECT_THAT(TablesOf("meter"), UnorderedElementsAre("SENSOR"));
  EXPECT_THAT(TablesOf("balloon"), UnorderedElementsAre("BALLOON_EVENT", "BALLOON_BLOB",
                                                        "BALLOON_WEEK", "BALLOON_METRIC"));
}

TEST_F(ExampleTest, TheBalloonFliesInFourPatterns) {
  std::vector<Pattern> patterns;
  for (const std::string& name : TablesOf("balloon")) {
    patterns.push_back(config_.schema->FindTable(name)->pattern);
  }
  EXPECT_THAT(patterns,
              UnorderedElementsAre(Pattern::kSingleTimestamp, Pattern::kSingleTimestampSerialized,
                                   Pattern::kNewCell, Pattern::kNewColumn));
}

TEST_F(ExampleTest, NothingExpiresByAge) {
  for (const Table& table : config_.schema->tables) {
    for (const Family& family : table.families) {
      EXPECT_FALSE(family.max_age_us.has_value()) << table.name << ":" << family.name;
    }
  }
}

TEST_F(ExampleTest, ListensOnThisMachineAndSyncsEveryBatch) {
  EXPECT_EQ(config_.server.listen, (std::vector<ListenAddress>{{"127.0.0.1:8780", false}}));
  EXPECT_EQ(config_.storage.sync, Sync::kAlways);
}

}  // namespace
}  // namespace tallyd

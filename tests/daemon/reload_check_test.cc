// Which changes of the file a reload applies, and which it refuses.
#include "daemon/reload_check.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

Config SomeConfig() {
  const Result<Config> config = ParseConfig(
      "[tables.T]\npattern = \"latest\"\nrow_key = \"{a}\"\nfamilies.M = {}\n", "t.toml");
  EXPECT_TRUE(config);
  return config ? *config : Config();
}

std::string Refusal(const Config& loaded) {
  const Status status = CheckReload(SomeConfig(), loaded);
  if (status) return "applied";
  EXPECT_EQ(status.error().code(), ErrorCode::kConflict);
  return status.error().message();
}

TEST(ReloadCheck, AppliesWhatIsNotOfAStart) {
  Config loaded = SomeConfig();
  EXPECT_EQ(Refusal(loaded), "applied");
  loaded.log.level = "debug";
  loaded.log.format = "json";
  loaded.server.cors = {"https://grafana.example.org"};
  EXPECT_EQ(Refusal(loaded), "applied");
}

TEST(ReloadCheck, NamesEveryKeyThatNeedsARestartInTheOrderOfTheReference) {
  Config loaded = SomeConfig();
  loaded.storage.ballast = 0;
  loaded.storage.sync = Sync::kInterval;
  loaded.storage.seal_cpu = 0.25;
  loaded.server.hosts = {"tallyd.example.org"};
  loaded.server.drain_timeout_us += 1;
  EXPECT_EQ(
      Refusal(loaded),
      "server.hosts, server.drain_timeout, storage.sync, storage.seal_cpu, storage.ballast: "
      "needs a restart; a reload applies streams, tables, ingest, log, tls, tokens, protocols "
      "and server.cors");
}

TEST(ReloadCheck, AppliesProtocolsButTheListenerOfTelnet) {
  Config loaded = SomeConfig();
  Schema schema = *loaded.schema;
  schema.protocols.influx = InfluxConfig{"T", true};
  schema.protocols.opentsdb = OpenTsdbConfig{"T", true, "", ""};
  loaded.schema = std::make_shared<const Schema>(schema);
  EXPECT_EQ(Refusal(loaded), "applied");
  schema.protocols.opentsdb->telnet = "127.0.0.1:4242";
  loaded.schema = std::make_shared<const Schema>(schema);
  EXPECT_TRUE(Refusal(loaded).starts_with("protocols.opentsdb.telnet: needs a restart"));
}

TEST(ReloadCheck, RefusesAFileThatMakesNoTable) {
  Config loaded = SomeConfig();
  loaded.schema = std::make_shared<const Schema>();
  EXPECT_EQ(Refusal(loaded), "t.toml makes no table: it may have been cut short");
}

TEST(ReloadCheck, RefusesAFileThatHasLostTheLastToken) {
  Config in_force = SomeConfig();
  in_force.tokens = {{.name = "a", .sha256 = "x", .roles = {Role::kRead}, .scope = {}}};
  const Status refused = CheckReload(in_force, SomeConfig());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(refused.error().message(),
            "t.toml has no [[auth.tokens]] any more, and would leave the daemon open to whoever "
            "reaches it: keep one, or restart to run without any");
  EXPECT_TRUE(CheckReload(in_force, in_force));
  EXPECT_TRUE(CheckReload(SomeConfig(), in_force)) << "the first may come by a reload";
}

}  // namespace
}  // namespace tallyd

#include "storage/bigtable/wire/client.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

SteadyTime SoonEnough() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

TEST(BigtableClient, NamesTablesInFull) {
  const BigtableService service;
  BigtableConfig config = service.Config();
  config.prefix = "dev_";
  const auto client = BigtableClient::Make(config);
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->TableName("METRIC"), "projects/p/instances/i/tables/dev_METRIC");
}

TEST(BigtableClient, RefusesAKeyThatIsNone) {
  BigtableConfig config;
  config.project = "p";
  config.instance = "i";
  config.credentials = ::testing::TempDir() + "/no_key.json";
  std::ofstream(config.credentials) << "{}";
  const auto client = BigtableClient::Make(config);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(client.error().message().find("no service account's key"), std::string::npos);
}

TEST(BigtableClient, TellsHowEachEntryEnded) {
  const BigtableService service;
  const auto client = service.Connect();
  std::vector<MutateRowsTry> tries(1);
  tries[0].request.set_table_name(MakeRows(client.get(), {"a"}));
  for (const char* family : {"A", "NONE"}) {
    auto* const entry = tries[0].request.add_entries();
    entry->set_row_key("b");
    entry->add_mutations()->mutable_set_cell()->set_family_name(family);
  }
  client->MutateRows(tries, SoonEnough());
  ASSERT_EQ(tries[0].ended.size(), 2u);
  EXPECT_TRUE(tries[0].ended[0].ok());
  EXPECT_EQ(tries[0].ended[1].code, RpcCode::kNotFound);
}

TEST(BigtableClient, TellsOfEachEntryThatTheServiceIsNotThere) {
  BigtableService service;
  const auto client = service.Connect();
  service.server.Stop();
  std::vector<MutateRowsTry> tries(1);
  tries[0].request.set_table_name(client->TableName("T"));
  tries[0].request.add_entries()->set_row_key("a");
  client->MutateRows(tries, std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
  ASSERT_EQ(tries[0].ended.size(), 1u);
  EXPECT_FALSE(tries[0].ended[0].ok());
}

TEST(BigtableClient, AnEndGivesUpWhatIsUnderWayAndWhatComesBehind) {
  BigtableService service;
  const auto client = service.Connect();
  const std::string table = MakeRows(client.get(), {"a"});
  tablet::FaultRates slow;
  slow.latency = std::chrono::seconds(3);
  service.server.faults().Set(slow);
  client->EndBy(std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
  for (int i = 0; i < 2; ++i) {
    std::vector<CheckAndMutateTry> tries(1);
    tries[0].request.set_table_name(table);
    tries[0].request.set_row_key("b");
    client->CheckAndMutateRows(tries, SoonEnough());
    EXPECT_TRUE(tries[0].ended.given_up);
  }
}

TEST(BigtableClient, AStreamThatNobodyReadsToItsEndEnds) {
  const BigtableService service;
  const auto client = service.Connect();
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back(std::to_string(10'000 + i));
  data_api::ReadRowsRequest request;
  request.set_table_name(MakeRows(client.get(), keys));
  const auto call = client->ReadRows(request, SoonEnough());
  data_api::ReadRowsResponse message;
  EXPECT_EQ(call->Await(SoonEnough(), &message), RowsCall::Step::kMessage);
}

}  // namespace
}  // namespace tallyd

// A tablet server of a test's own, a client of it, and stores on it.
#ifndef TALLYD_TESTS_STORAGE_BIGTABLE_SERVICE_H_
#define TALLYD_TESTS_STORAGE_BIGTABLE_SERVICE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/bigtable/wire/client.h"
#include "storage/bigtable_store.h"
#include "tests/bigtable/tablet/tablet_server.h"

namespace tallyd {

struct BigtableService {
  tablet::TabletServer server;
  // Of the stores that are opened.
  bool whole_batches = false;
  int64_t deadline_us = 20 * kUsPerSecond;
  int64_t poll_us = 100 * kUsPerMs;

  BigtableConfig Config() const {
    BigtableConfig config;
    config.project = "p";
    config.instance = "i";
    config.emulator = server.address();
    config.deadline_us = deadline_us;
    config.attempt_us = 5 * kUsPerSecond;
    config.poll_us = poll_us;
    config.channels = 2;
    config.whole_batches = whole_batches;
    return config;
  }
  std::unique_ptr<BigtableClient> Connect() const {
    return std::move(*BigtableClient::Make(Config()));
  }
  // Times as the tests of all engines have them: a microsecond is told from the next.
  Result<std::unique_ptr<Store>> OpenStore(const Clock& clock) const {
    BigtableStoreOptions options;
    options.bigtable = Config();
    options.clock = &clock;
    options.grain_us = 1;
    Result<std::unique_ptr<Store>> store = OpenBigtableStore(options);
    if (!store) return store;
    const Status connected = (*store)->Connect(std::chrono::seconds(20));
    return connected ? std::move(store) : connected.error();
  }
};

// Rows wait for an hour, since the service asked for less.
inline void SlowDown(BigtableClient* client) {
  constexpr auto kRowsOfAnHour = static_cast<size_t>(3600 * WritePace::kLeastRows);
  const SteadyTime now = std::chrono::steady_clock::now();
  client->pace().Reserve(1, now);
  client->pace().Hear(WritePace::kLeastFactor, WritePace::kForgottenAfter, now);
  client->pace().Reserve(kRowsOfAnHour, now);
}

// A table with family A and rows that have one cell, A:x, each its key as the value.
inline std::string MakeRows(BigtableClient* client, const std::vector<std::string>& keys) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  admin_api::CreateTableRequest made;
  made.set_parent(client->instance_name());
  made.set_table_id("T");
  (*made.mutable_table()->mutable_column_families())["A"];
  (void)client->CreateTable(made, deadline);
  std::vector<MutateRowsTry> tries(1);
  tries[0].request.set_table_name(client->TableName("T"));
  for (const std::string& key : keys) {
    auto* const entry = tries[0].request.add_entries();
    entry->set_row_key(key);
    auto* const cell = entry->add_mutations()->mutable_set_cell();
    cell->set_family_name("A");
    cell->set_column_qualifier("x");
    cell->set_value(key);
  }
  if (!keys.empty()) client->MutateRows(tries, deadline);
  return client->TableName("T");
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_BIGTABLE_SERVICE_H_

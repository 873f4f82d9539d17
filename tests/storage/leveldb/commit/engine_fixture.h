// An engine without its committer: the test commits groups of batches itself.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_COMMIT_ENGINE_FIXTURE_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_COMMIT_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/leveldb/commit/engine.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {

// A store made the usual way and closed; then an engine of its own over it.
class EngineFixture : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    ASSERT_TRUE(Write("L", "first", 1, {{"A", "x", Value::Int(1)}}));
    Close();
    ASSERT_TRUE(OpenEngine());
  }

  Status OpenEngine() {
    engine_.reset();
    metrics_.reset();
    registry_ = std::make_unique<prometheus::Registry>();
    metrics_ = std::make_unique<StoreMetrics>(*registry_);
    LevelDbStoreOptions options;
    options.storage = config();
    options.clock = &clock;
    options.registry = registry_.get();
    options.env = &disk_;
    options.measure = measure;
    engine_ = std::make_unique<Engine>(options, metrics_.get());
    return engine_->Open();
  }
  TableInfo TableOf(const std::string& name) {
    for (const TablePtr& table : engine_->state().catalogue.Tables()) {
      if (table->name == name) return *table;
    }
    ADD_FAILURE() << name;
    return {};
  }
  std::unique_ptr<LevelDbBatch> NewBatch() {
    return std::make_unique<LevelDbBatch>(engine_->state().fields);
  }
  void AddRow(LevelDbBatch* batch, const std::string& table, const std::string& row,
              const Value& value) {
    const ColumnRef column{0, "x"};
    batch->Put(TableOf(table), row, 5, {&column, 1}, {&value, 1});
  }
  Status Commit(const std::string& table, const std::string& row) {
    const auto batch = NewBatch();
    AddRow(batch.get(), table, row, Value::Int(7));
    return CommitBatch(batch.get());
  }
  Status CommitBatch(LevelDbBatch* batch) {
    Batch* const group = batch;
    return engine_->Commit({&group, 1}, true);
  }
  // The rows of the latest table, as memory has them.
  std::vector<std::string> Rows() {
    LatestCopy copy;
    engine_->state().latest.Read(TableOf("L").id, {}, false, 100, &copy);
    std::vector<std::string> rows;
    for (const auto& [key, row] : copy.rows()) rows.emplace_back(key);
    return rows;
  }
  using Strings = std::vector<std::string>;

  FaultEnv disk_;
  std::unique_ptr<prometheus::Registry> registry_;
  std::unique_ptr<StoreMetrics> metrics_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_COMMIT_ENGINE_FIXTURE_H_

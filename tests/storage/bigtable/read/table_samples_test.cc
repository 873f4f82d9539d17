#include "storage/bigtable/read/table_samples.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class TableSamplesTest : public ::testing::Test {
 protected:
  TableSamplesTest() {
    table_.id = 7;
    table_.name = "T";
    table_.families.emplace_back().name = "A";
  }
  uint64_t Rows(const KeyRange& range = {}) {
    return samples_.Of(table_.id)->Estimate({&range, 1}, {}, 0).rows;
  }
  static SteadyTime Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }
  uint64_t Asked() { return service_.server.faults().Calls()["SampleRowKeys"]; }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  TableSamples samples_{client_.get()};
  TableInfo table_;
};

TEST_F(TableSamplesTest, TheServiceIsAskedOnce) {
  std::vector<std::string> keys;
  for (int i = 1000; i < 1400; ++i) keys.push_back(std::to_string(i) + std::string(96, '#'));
  MakeRows(client_.get(), keys);
  EXPECT_EQ(Rows(), 0u) << "nobody has told of any";
  for (int i = 0; i < 3; ++i) samples_.AskOnce(table_, Soon());
  EXPECT_EQ(Asked(), 1u);
  EXPECT_NEAR(static_cast<double>(Rows()), 400, 150);
  samples_.AskAgain(table_, Soon());
  EXPECT_EQ(Asked(), 1u) << "within a minute what it said is as good";
}

TEST_F(TableSamplesTest, OfATableThatIsNotThereNothingIsKnown) {
  samples_.AskOnce(table_, Soon());
  samples_.AskOnce(table_, Soon());
  EXPECT_EQ(Asked(), 1u) << "nor is it asked for at once";
  EXPECT_EQ(Rows(), 0u);
}

TEST_F(TableSamplesTest, WhatIsWrittenAndDeletedHereIsKnown) {
  WireTables tables(*client_);
  const ColumnRef column{0, "x"};
  const Value value = Value::Int(1);
  BigtableBatch batch(&tables, 1, 1);
  for (int i = 100; i < 200; ++i) {
    batch.Put(table_, std::to_string(i), 5'000, {&column, 1}, {&value, 1});
  }
  samples_.Tell(batch);
  EXPECT_EQ(Rows(), 100u);
  BigtableBatch removal(&tables, 1, 1);
  DeleteSpec what;
  what.rows = PrefixRange("11");
  removal.Delete(table_, what);
  samples_.Tell(removal);
  EXPECT_EQ(Rows(), 90u);
  samples_.Drop(table_.id);
  EXPECT_EQ(Rows(), 0u);
}

}  // namespace
}  // namespace tallyd

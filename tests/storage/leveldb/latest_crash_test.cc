// Power cuts at every call that changes the disk while a delete of many rows of a latest table is
// worked off, and while a table is dropped: it is seen whole or not at all, and is finished after
// the reopen.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <thread>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/call_stride.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr int kRows = 11;

class LatestCrashTest : public ::testing::TestWithParam<std::tuple<Loss, Sync>> {
 protected:
  // A store with rows in base, rows in the head, and some in both. The next call has number 1.
  void Start() {
    harness_.reset();
    env_ = std::make_unique<FaultEnv>();
    harness_ = std::make_unique<StoreHarness>(env_.get());
    harness_->config().sync = std::get<Sync>(GetParam());
    harness_->config().sync_interval_us = 2000;
    harness_->config().seal_delay_us = 3'600'000'000;
    harness_->set_rows_at_once(4);
    ASSERT_TRUE(OpenStore());
    WriteRows(0, 8, 50);
    ASSERT_TRUE(harness_->store().Settle());
    WriteRows(5, kRows, 60);
    harness_->config().seal_delay_us = 1000;
    ASSERT_TRUE(OpenStore());
  }

  bool OpenStore(bool with_table = true) {
    std::vector<Table> tables = {MakeTable("H")};
    if (with_table) tables.push_back(MakeTable("L", Pattern::kLatest));
    return harness_->TryOpen() && harness_->Adopt(MakeSchema(tables));
  }

  void WriteRows(int begin, int end, TimeUs time) {
    auto batch = harness_->NewBatch();
    for (int row = begin; row < end; ++row) {
      harness_->Put(batch.get(), "L", fmt::format("m{:02}", row), time,
                    {{"A", "n", Value::Int(row)}});
    }
    ASSERT_TRUE(harness_->Commit(std::move(batch)));
  }

  // Until nothing is left to do, or the power is off.
  void AwaitQuiet() {
    while (!env_->failed() && harness_->Told("pending_deletes") > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void CutPower(uint64_t call) {
    harness_->Close();
    env_->LosePower(std::get<Loss>(GetParam()), static_cast<unsigned>(call));
  }

  uint64_t LatestRecordsInBase() {
    harness_->Close();
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(leveldb::DB::Open({}, harness_->config().path, &opened).ok());
    const std::unique_ptr<leveldb::DB> base(opened);
    const std::unique_ptr<leveldb::Iterator> it(base->NewIterator({}));
    const std::string begin(1, static_cast<char>(KeySpace::kLatest));
    uint64_t records = 0;
    for (it->Seek(begin); it->Valid() && it->key().starts_with(begin); it->Next()) ++records;
    return records;
  }

  std::unique_ptr<FaultEnv> env_;
  std::unique_ptr<StoreHarness> harness_;
};

TEST_P(LatestCrashTest, ADeleteOfManyRowsIsWholeAndFinished) {
  const bool always = std::get<Sync>(GetParam()) == Sync::kAlways;
  for (uint64_t call = FirstCall();; call += CallStride()) {
    SCOPED_TRACE("cut at call " + std::to_string(call));
    Start();
    env_->CutAt(env_->calls() + call);
    const bool deleted = harness_->Erase("L", RowDelete("", "")).has_value();
    const bool rewritten =
        deleted && harness_->Write("L", "m03", 7, {{"A", "n", Value::Int(7)}}).has_value();
    AwaitQuiet();
    const bool cut = env_->failed();
    CutPower(call);
    ASSERT_TRUE(OpenStore());
    const Rows rows = harness_->Read("L");
    EXPECT_TRUE(!always || !deleted || rows.size() <= 1) << rows.size();
    EXPECT_TRUE(!always || !rewritten || rows == (Rows{{"m03", {{"A:n@7", "7"}}}}));
    EXPECT_TRUE(rows.size() <= 1 || rows.size() == kRows) << rows.size();
    ASSERT_TRUE(harness_->store().Settle());
    EXPECT_EQ(harness_->Read("L"), rows);
    EXPECT_EQ(harness_->Told("pending_deletes"), 0u);
    EXPECT_EQ(harness_->store().Stats(harness_->Find("L"))->rows, rows.size());
    ASSERT_TRUE(OpenStore());
    EXPECT_EQ(harness_->Read("L"), rows);
    EXPECT_EQ(LatestRecordsInBase(), rows.size());
    if (HasFailure() || !cut) break;
  }
}

TEST_P(LatestCrashTest, ADroppedTableLeavesNothing) {
  for (uint64_t call = FirstCall();; call += CallStride()) {
    SCOPED_TRACE("cut at call " + std::to_string(call));
    Start();
    ASSERT_TRUE(OpenStore(false));
    env_->CutAt(env_->calls() + call);
    const bool dropped = harness_->store().DropTable("L").has_value();
    // With the power off nothing settles any more.
    for (int i = 0; dropped && i < 40 && !env_->failed(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const bool cut = env_->failed();
    CutPower(call);
    ASSERT_TRUE(OpenStore(false));
    const TablePtr table = harness_->Find("L");
    EXPECT_TRUE(!dropped || table == nullptr);
    ASSERT_TRUE(harness_->store().Settle());
    if (table != nullptr) {
      EXPECT_EQ(harness_->store().Stats(table)->rows, uint64_t{kRows});
      ASSERT_TRUE(harness_->store().DropTable("L"));
      ASSERT_TRUE(harness_->store().Settle());
    }
    EXPECT_EQ(LatestRecordsInBase(), 0u);
    if (HasFailure() || !cut) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LatestCrashTest,
                         ::testing::Values(std::tuple(Loss::kAll, Sync::kAlways),
                                           std::tuple(Loss::kRandomSectors, Sync::kAlways),
                                           std::tuple(Loss::kAll, Sync::kInterval)));

}  // namespace
}  // namespace tallyd

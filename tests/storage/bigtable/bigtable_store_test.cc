#include "storage/bigtable_store.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

class BigtableHost final : public StoreHost {
 public:
  explicit BigtableHost(double faults, bool whole_batches = false) {
    service_.whole_batches = whole_batches;
    spdlog::set_level(std::getenv("TALLYD_TEST_LOG") ? spdlog::level::trace : spdlog::level::off);
    tablet::FaultRates rates = tablet::FaultRates::All(faults);
    rates.collections = 0;  // By its clock all times of these tests are long past.
    if (faults > 0) service_.server.faults().Set(rates);
  }
  Result<std::unique_ptr<Store>> Open(const Clock& clock) override {
    return service_.OpenStore(clock);
  }

 private:
  BigtableService service_;
};

const StoreKind kBigtable = {"Bigtable", [] { return std::make_unique<BigtableHost>(0.0); }};
INSTANTIATE_TEST_SUITE_P(Bigtable, Conformance, ::testing::Values(kBigtable));
const StoreKind kFaulty = {"FaultyBigtable", [] { return std::make_unique<BigtableHost>(0.02); }};
INSTANTIATE_TEST_SUITE_P(FaultyBigtable, Conformance, ::testing::Values(kFaulty));
const StoreKind kWhole = {"WholeBigtable",
                          [] { return std::make_unique<BigtableHost>(0.02, true); }};
INSTANTIATE_TEST_SUITE_P(WholeBigtable, Conformance, ::testing::Values(kWhole));

class OneOfTwo : public StoreVerbs {
 public:
  explicit OneOfTwo(const BigtableService& service) {
    Result<std::unique_ptr<Store>> opened = service.OpenStore(clock);
    EXPECT_TRUE(opened) << opened.error().message();
    if (opened) store_ = std::move(*opened);
  }
  Store& store() override { return *store_; }

 private:
  std::unique_ptr<Store> store_;
};

template <class Condition>
bool Within(std::chrono::seconds time, const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

Schema HistoryAndLatest() { return MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)}); }

TEST(BigtableStore, TwoDaemonsReadWhatEitherWrote) {
  const BigtableService service;
  OneOfTwo a(service);
  OneOfTwo b(service);
  ASSERT_TRUE(a.store().Adopt(HistoryAndLatest()));
  ASSERT_TRUE(b.store().Adopt(HistoryAndLatest()));
  EXPECT_EQ(a.Find("H")->id, b.Find("H")->id);
  ASSERT_TRUE(a.Write("H", "r", 5, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(b.Write("H", "r", 6, {{"A", "x", Value::String("6")}}));
  ASSERT_TRUE(b.Write("L", "r", 6, {{"A", "x", Value::Int(2)}}));
  ASSERT_TRUE(a.Write("L", "r", 5, {{"A", "x", Value::Int(1)}}));
  const Rows history = {{"r", {{"A:x@5", "1"}, {"A:x@6", "6"}}}};
  EXPECT_EQ(a.Read("H"), history);
  EXPECT_EQ(b.Read("H"), history);
  EXPECT_EQ(a.Read("L"), (Rows{{"r", {{"A:x@6", "2"}}}})) << "the newest counts, not the last";
}

TEST(BigtableStore, WhatANewerCellHidDoesNotComeBackWhenThatIsDeleted) {
  const BigtableService service;
  OneOfTwo a(service);
  ASSERT_TRUE(a.store().Adopt(HistoryAndLatest()));
  for (const TimeUs time : {5, 7}) {
    ASSERT_TRUE(a.Write("L", "r", time, {{"A", "x", Value::Int(time)}}));
  }
  DeleteSpec newest{OneRow("r"), {}, {}, {}};
  newest.cells = {6, 8};
  ASSERT_TRUE(a.Erase("L", newest));
  EXPECT_EQ(a.Read("L"), Rows());
}

TEST(BigtableStore, AClockThatJumpsAheadMakesNoTableEmpty) {
  BigtableService service;
  OneOfTwo a(service);
  Schema schema = HistoryAndLatest();
  for (Family& family : schema.tables[0].families) family.max_age_us = kUsPerDay;
  ASSERT_TRUE(a.store().Adopt(schema));
  ASSERT_TRUE(a.Write("H", "r", a.clock.now, {{"A", "x", Value::Int(1)}}));
  a.clock.now += 3650 * kUsPerDay;
  schema.tables[0].families[0].aggregate = Aggregate::kSum;
  const Status adopted = a.store().Adopt(schema);
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(service.server.faults().Count("DeleteTable"), 0u);
}

TEST(BigtableStore, AnotherDaemonKnowsANewFieldSoon) {
  const BigtableService service;
  OneOfTwo a(service);
  OneOfTwo b(service);
  ASSERT_TRUE(a.store().Adopt(HistoryAndLatest()));
  ASSERT_TRUE(b.store().Adopt(HistoryAndLatest()));
  auto batch = a.NewBatch();
  batch->AddField("s", "LOAD", TypeBit(ValueType::kInt64));
  ASSERT_TRUE(a.Commit(std::move(batch)));
  EXPECT_EQ(a.store().Fields("s").size(), 1u);
  EXPECT_TRUE(Within(std::chrono::seconds(5), [&] { return b.store().Fields("s").size() == 1; }));
}

TEST(BigtableStore, WhoAsksKnowsAFieldAtOnceThatAnotherDaemonNoted) {
  BigtableService service;
  service.poll_us = 3600 * kUsPerSecond;
  OneOfTwo a(service);
  OneOfTwo b(service);
  ASSERT_TRUE(a.store().Adopt(HistoryAndLatest()));
  ASSERT_TRUE(b.store().Adopt(HistoryAndLatest()));
  ASSERT_TRUE(Within(std::chrono::seconds(20), [&] { return b.store().Trouble().empty(); }));
  auto batch = a.NewBatch();
  batch->AddField("s", "LOAD", TypeBit(ValueType::kInt64));
  ASSERT_TRUE(a.Commit(std::move(batch)));
  EXPECT_EQ(b.store().Fields("s").size(), 0u);
  std::vector<std::thread> others;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&] {
      EXPECT_TRUE(b.store().AskForFields());
      EXPECT_EQ(b.store().Fields("s").size(), 1u);
    });
  }
  for (std::thread& other : others) other.join();
}

TEST(BigtableStore, OfTwoFilesTheOneThatCameLastCounts) {
  const BigtableService service;
  OneOfTwo a(service);
  OneOfTwo b(service);
  ASSERT_TRUE(a.store().Adopt(HistoryAndLatest()));
  Schema later = HistoryAndLatest();
  later.tables.push_back(MakeTable("NEW"));
  ASSERT_TRUE(b.store().Adopt(later));
  EXPECT_TRUE(Within(std::chrono::seconds(5), [&] { return !a.store().State().writable; }));
  const Status written = a.Write("H", "r", 5, {{"A", "x", Value::Int(1)}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(b.Write("H", "r", 5, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(a.store().Adopt(later)) << "given the same file it goes on";
  EXPECT_TRUE(a.Write("H", "r", 6, {{"A", "x", Value::Int(1)}}));
}

TEST(BigtableStore, ARestartOnTheSameFileAdministersNoTable) {
  BigtableService service;
  { ASSERT_TRUE(OneOfTwo(service).store().Adopt(HistoryAndLatest())); }
  service.server.faults().Forget();
  OneOfTwo again(service);
  ASSERT_TRUE(again.store().Adopt(HistoryAndLatest()));
  for (const char* method : {"CreateTable", "ModifyColumnFamilies", "UpdateTable"}) {
    EXPECT_EQ(service.server.faults().Count(method), 0u) << method;
  }
}

TEST(BigtableStore, AnAdoptionThatRemovedATableAndMadeNoneIsDoneAgain) {
  BigtableService service;
  OneOfTwo daemon(service);
  ASSERT_TRUE(daemon.store().Adopt(HistoryAndLatest()));
  Schema other = HistoryAndLatest();
  other.tables[0].row_key = *RowKeyTemplate::Parse("{other}#{ts:ms}", "ts");
  service.server.faults().Script([](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "CreateTable") return {};
    return {tablet::Outcome::kRefused, {grpc::StatusCode::PERMISSION_DENIED, "not now"}};
  });
  EXPECT_FALSE(daemon.store().Adopt(other));
  service.server.faults().Script({});
  const Status adopted = daemon.store().Adopt(other);
  ASSERT_TRUE(adopted) << adopted.error().message();
  EXPECT_TRUE(daemon.Write("H", "r", 5, {{"A", "x", Value::Int(1)}}));
}

TEST(BigtableStore, WhatHasExpiredIsNotCountedWhereTheServiceHasItStill) {
  const BigtableService service;
  OneOfTwo daemon(service);
  Schema schema = HistoryAndLatest();
  schema.tables[0].families[0].max_age_us = 10 * kUsPerSecond;
  ASSERT_TRUE(daemon.store().Adopt(schema));
  const TimeUs written = daemon.clock.now;
  for (const char* row : {"a", "b"}) {
    ASSERT_TRUE(daemon.Write("H", row, written, {{"A", "x", Value::Int(1)}}));
  }
  ASSERT_TRUE(daemon.Write("H", "b", written, {{"B", "x", Value::Int(1)}}));
  EXPECT_EQ(daemon.store().Stats(daemon.Find("H"))->rows, 2u);
  daemon.clock.now += 20 * kUsPerSecond;
  EXPECT_EQ(daemon.Read("H").size(), 1u);
  const Result<TableStats> stats = daemon.store().Stats(daemon.Find("H"));
  ASSERT_TRUE(stats);
  EXPECT_TRUE(stats->rows_exact);
  EXPECT_EQ(stats->rows, 1u);
}

TEST(BigtableStore, WithTheServiceAwayItSaysSoAndGoesOnByItself) {
  BigtableService service;
  OneOfTwo daemon(service);
  ASSERT_TRUE(daemon.store().Adopt(HistoryAndLatest()));
  service.server.Stop();
  EXPECT_TRUE(Within(std::chrono::seconds(10), [&] { return !daemon.store().State().writable; }));
  EXPECT_FALSE(daemon.store().AskForFields());
  ASSERT_TRUE(service.server.Start());
  EXPECT_TRUE(Within(std::chrono::seconds(10), [&] { return daemon.store().State().writable; }));
  EXPECT_TRUE(daemon.Write("H", "r", 5, {{"A", "x", Value::Int(1)}}));
}

TEST(BigtableStore, ItSaysSoAlsoWhereItWasAboutToLookForAJournal) {
  BigtableService service;
  service.deadline_us = 3600 * kUsPerSecond;
  OneOfTwo daemon(service);
  std::atomic<bool> is_away = false;
  service.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.table.ends_with("/tallyd_journal")) is_away = true;
    if (!is_away) return {};
    return {tablet::Outcome::kRefused, {grpc::StatusCode::UNAVAILABLE, "away"}};
  });
  EXPECT_TRUE(Within(std::chrono::seconds(20), [&] { return !daemon.store().State().writable; }));
  service.server.faults().Script({});
}

TEST(BigtableStore, ATableThatJoinsAStreamWithRowsIsNeverToldToBeWhole) {
  const BigtableService service;
  OneOfTwo daemon(service);
  ASSERT_TRUE(daemon.store().Adopt(HistoryAndLatest()));
  auto batch = daemon.NewBatch();
  batch->AddField("s", "x", TypeBit(ValueType::kInt64));
  daemon.Put(batch.get(), "H", "r", 5, {{"A", "x", Value::Int(1)}});
  ASSERT_TRUE(daemon.Commit(std::move(batch)));
  Schema later = HistoryAndLatest();
  later.tables.push_back(MakeTable("NEW"));
  ASSERT_TRUE(daemon.store().Adopt(later));
  EXPECT_EQ(daemon.Find("NEW")->membership.whole_from, kNeverWhole);
  EXPECT_EQ(daemon.Find("H")->membership.whole_from, 0);
}

}  // namespace
}  // namespace tallyd

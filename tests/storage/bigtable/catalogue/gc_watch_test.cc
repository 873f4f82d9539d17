#include "storage/bigtable/catalogue/gc_watch.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

class GcWatchTest : public ::testing::Test {
 protected:
  struct Member {
    Member(BigtableClient* client, const Clock* clock)
        : catalogue(client, clock, kUsPerMs, {}), watch(client, &catalogue, clock) {
      EXPECT_TRUE(catalogue.Open());
      EXPECT_TRUE(catalogue.Load());
      EXPECT_TRUE(catalogue.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")}),
                                  [](const TablePtr&) -> Result<bool> { return false; }));
    }
    BigtableCatalogue catalogue;
    GcWatch watch;
  };

  // As somebody does with other means.
  void SetVersions(const std::string& table, int versions) {
    admin_api::ModifyColumnFamiliesRequest request;
    request.set_name(client_->TableName(table));
    auto* const change = request.add_modifications();
    change->set_id("A");
    change->mutable_update()->mutable_gc_rule()->set_max_num_versions(versions);
    const SteadyTime soon = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    EXPECT_TRUE(client_->ModifyColumnFamilies(request, soon).ok());
  }

  uint64_t Reads() { return service_.server.faults().Count("GetTable"); }

  ManualClock clock_;
  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  Member a_{client_.get(), &clock_};
  Member b_{client_.get(), &clock_};
};

TEST_F(GcWatchTest, WhatOneFindsEachTells) {
  ASSERT_TRUE(a_.watch.Look());
  EXPECT_TRUE(a_.watch.Drifts().empty());
  SetVersions("N", 7);
  clock_.now += GcWatch::kBetweenReadsUs;
  ASSERT_TRUE(a_.watch.Look());
  ASSERT_TRUE(b_.watch.Look());
  for (const Member* member : {&a_, &b_}) {
    const auto drifts = member->watch.Drifts();
    ASSERT_EQ(drifts.size(), 1u);
    EXPECT_EQ(drifts.at("N"), "family A: there max_versions 7, by the file nothing goes");
  }
}

TEST_F(GcWatchTest, WhoAsksHasTheFilesRulesAgainAndAnAdoptionAloneDoesNotSetThem) {
  SetVersions("N", 7);
  const Schema file = MakeSchema({MakeTable("H"), MakeTable("N")});
  const auto holds_none = [](const TablePtr&) -> Result<bool> { return false; };
  ASSERT_TRUE(b_.catalogue.Adopt(file, holds_none));
  ASSERT_TRUE(a_.watch.Look());
  ASSERT_EQ(a_.watch.Drifts().size(), 1u);
  service_.server.faults().Forget();
  ASSERT_TRUE(a_.watch.SetAgain(file));
  EXPECT_EQ(service_.server.faults().Count("ModifyColumnFamilies"), 1u);
  EXPECT_TRUE(a_.watch.Drifts().empty());
  ASSERT_TRUE(b_.watch.Look());
  EXPECT_TRUE(b_.watch.Drifts().empty());
  ASSERT_TRUE(a_.watch.SetAgain(file));
  EXPECT_EQ(service_.server.faults().Count("ModifyColumnFamilies"), 1u);
  SetVersions("N", 7);
  ASSERT_TRUE(a_.watch.SetAgain(MakeSchema({MakeTable("H")}))) << "it names another table";
  clock_.now += GcWatch::kBetweenReadsUs;
  ASSERT_TRUE(a_.watch.Look());
  EXPECT_EQ(a_.watch.Drifts().size(), 1u);
}

TEST_F(GcWatchTest, EachTableIsReadOnceInTenMinutesByOneOfThem) {
  service_.server.faults().Forget();
  for (int minute = 0; minute < 10; ++minute) {
    ASSERT_TRUE(a_.watch.Look());
    ASSERT_TRUE(b_.watch.Look());
    clock_.now += 60 * kUsPerSecond;
  }
  EXPECT_EQ(Reads(), 2u);
  ASSERT_TRUE(b_.watch.Look()) << "whoever had the lease is gone";
  EXPECT_EQ(Reads(), 4u);
}

TEST_F(GcWatchTest, ForgetsWhatItFoundOfTablesThatAreNoMore) {
  ASSERT_TRUE(a_.watch.Look());
  const auto is_known = [&](const char* column) {
    return a_.catalogue.rows().Read("g")->contains(column);
  };
  EXPECT_TRUE(is_known("a/N"));
  ASSERT_TRUE(a_.catalogue.Adopt(MakeSchema({MakeTable("H")}),
                                 [](const TablePtr&) -> Result<bool> { return false; }));
  ASSERT_TRUE(a_.catalogue.Drop("N"));
  clock_.now += kUsPerDay;
  ASSERT_TRUE(a_.watch.Look());
  EXPECT_FALSE(is_known("a/N"));
  EXPECT_FALSE(is_known("d/N"));
  EXPECT_TRUE(is_known("a/H"));
}

TEST_F(GcWatchTest, WhoHasNoLeaseReadsNothing) {
  service_.server.faults().Forget();
  ASSERT_TRUE(a_.watch.Look());
  EXPECT_EQ(Reads(), 2u);
  ASSERT_TRUE(a_.catalogue.Adopt(MakeSchema({MakeTable("H"), MakeTable("N"), MakeTable("Z")}),
                                 [](const TablePtr&) -> Result<bool> { return false; }));
  ASSERT_TRUE(b_.catalogue.Refresh({}));
  service_.server.faults().Forget();
  ASSERT_TRUE(b_.watch.Look());
  EXPECT_EQ(Reads(), 0u);
  ASSERT_TRUE(a_.watch.Look());
  EXPECT_EQ(Reads(), 1u);
}

}  // namespace
}  // namespace tallyd

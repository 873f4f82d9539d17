#include "storage/bigtable/catalogue/fold_probe.h"

#include <gtest/gtest.h>

#include "storage/bigtable/catalogue/catalogue_rows.h"
#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class FoldProbeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(CatalogueRows(client_.get()).Open()); }
  void Refuse(const char* method) {
    service_.server.faults().Script([method](const tablet::Call& call) -> tablet::Verdict {
      if (call.method != method) return {};
      return {tablet::Outcome::kRefused, {grpc::StatusCode::UNIMPLEMENTED, "not here"}};
    });
  }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
};

TEST_F(FoldProbeTest, FindsWhatTheServiceHasWhateverGoesWrongOnTheWay) {
  tablet::FaultRates rates = tablet::FaultRates::All(0.2);
  rates.collections = 0;
  service_.server.faults().Set(rates);
  for (int i = 0; i < 5; ++i) {
    const Result<FoldTraits> found = FindFoldTraits(client_.get());
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->Has(Aggregate::kSum) && found->Has(Aggregate::kMin) && found->takes_tokens);
    EXPECT_FALSE(found->Has(Aggregate::kHll));
  }
}

TEST_F(FoldProbeTest, MakesItsFamiliesOnceAndLeavesNoRow) {
  ASSERT_TRUE(FindFoldTraits(client_.get()));
  ASSERT_TRUE(FindFoldTraits(client_.get()));
  EXPECT_EQ(service_.server.faults().Count("ModifyColumnFamilies"), 1u);
  EXPECT_EQ(service_.server.RowsOf(client_->TableName(kCatalogueTable)), 1u) << "the claim";
}

TEST_F(FoldProbeTest, TellsWhyAServiceHasNone) {
  Refuse("ModifyColumnFamilies");
  const Result<FoldTraits> found = FindFoldTraits(client_.get());
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->Has(Aggregate::kSum) || found->Has(Aggregate::kMax) || found->takes_tokens);
  EXPECT_EQ(found->why, "not here");
}

}  // namespace
}  // namespace tallyd

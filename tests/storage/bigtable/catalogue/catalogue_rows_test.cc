#include "storage/bigtable/catalogue/catalogue_rows.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class CatalogueRowsTest : public ::testing::Test {
 protected:
  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  CatalogueRows rows_{client_.get()};
};

TEST_F(CatalogueRowsTest, MakesItsTableOnce) {
  ASSERT_TRUE(rows_.Open());
  ASSERT_TRUE(rows_.Open());
  EXPECT_EQ(service_.server.faults().Count("CreateTable"), 1u);
}

TEST_F(CatalogueRowsTest, RefusesToMakeItsTableWhereItMayNot) {
  BigtableConfig config = service_.Config();
  config.create = false;
  const auto client = std::move(*BigtableClient::Make(config));
  const Status opened = CatalogueRows(client.get()).Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kInvalid);
}

TEST_F(CatalogueRowsTest, NamesTheAppProfileThatTakesNoTransactions) {
  ASSERT_TRUE(rows_.Open());
  service_.server.faults().Script([](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "CheckAndMutateRow") return {};
    return {tablet::Outcome::kRefused,
            {grpc::StatusCode::FAILED_PRECONDITION,
             "Single-row transactions are not allowed by this app profile"}};
  });
  const Status opened = rows_.Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(opened.error().message().find("app_profile: \"default\""), std::string::npos);
}

TEST_F(CatalogueRowsTest, ReplacesTheSchemaOfAVersionAndNoOther) {
  ASSERT_TRUE(rows_.Open());
  EXPECT_TRUE(*rows_.ReplaceSchema("", {{"version", "1-a"}, {"t/1", "x"}}));
  EXPECT_FALSE(*rows_.ReplaceSchema("", {{"version", "1-b"}}));
  EXPECT_TRUE(*rows_.ReplaceSchema("1-a", {{"version", "2-a"}}));
  EXPECT_FALSE(*rows_.ReplaceSchema("1-a", {{"version", "2-b"}}));
  EXPECT_EQ(*rows_.Read(kSchemaRow), (CatalogueCells{{"version", "2-a"}}));
}

TEST_F(CatalogueRowsTest, TellsRightWhoWonThoughAnswersAreLost) {
  ASSERT_TRUE(rows_.Open());
  int calls = 0;
  service_.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "CheckAndMutateRow" || ++calls > 1) return {};
    return {tablet::Outcome::kUnanswered, {grpc::StatusCode::UNAVAILABLE, "lost"}};
  });
  EXPECT_TRUE(*rows_.ReplaceSchema("", {{"version", "1-a"}}));
  EXPECT_EQ(calls, 2);
}

TEST_F(CatalogueRowsTest, FindsOutThatReverseScansAreTaken) {
  ASSERT_TRUE(rows_.Open());
  EXPECT_TRUE(*rows_.TakesReverseScans());
}

}  // namespace
}  // namespace tallyd

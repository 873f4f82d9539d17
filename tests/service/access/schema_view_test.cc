#include "service/access/schema_view.h"

#include <gtest/gtest.h>

#include "config/file/config.h"

namespace tallyd {
namespace {

constexpr const char* kTables = R"(
[tables.BY_TENANT]
stream = "s"
pattern = "single-timestamp"
row_key = "{tenant}#{ts:ms}"
families.M = {}
[tables.BY_HOST]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.M = {}
[tables.BY_DAY]
stream = "s"
pattern = "new-cell"
row_key = "{ts:day}#{tenant}"
families.M = {}
[tables.OTHER]
stream = "other"
pattern = "latest"
row_key = "{host}"
families.M = {}
)";

std::shared_ptr<const SchemaSnapshot> Snapshot() {
  auto snapshot = std::make_shared<SchemaSnapshot>();
  snapshot->schema = ParseConfig(kTables, "test.toml")->schema;
  return snapshot;
}

Principal OfTenant(const std::string& tenant) {
  return {.name = "t", .roles = {Role::kRead}, .scope = {{"tenant", tenant}}};
}

std::vector<std::string> NamesOf(const Schema& schema) {
  std::vector<std::string> names;
  for (const Table& table : schema.tables) names.push_back(table.name);
  return names;
}

TEST(SchemaView, HasTheTablesWhoseKeysHoldTheScope) {
  const SchemaViews views;
  const Access access = views.Of(Snapshot(), OfTenant("acme"));
  ASSERT_TRUE(access.is_scoped());
  EXPECT_EQ(NamesOf(access.schema()), (std::vector<std::string>{"BY_TENANT", "BY_DAY"}));
  EXPECT_EQ(access.view->whole().tables.size(), 4u);
}

TEST(SchemaView, HasEveryStreamWithTheTablesThatAreThere) {
  const SchemaViews views;
  const Access access = views.Of(Snapshot(), OfTenant("acme"));
  ASSERT_EQ(access.schema().streams.size(), 2u);
  EXPECT_EQ(access.schema().FindStream("s")->tables, (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(access.schema().FindStream("other")->tables.empty());
}

TEST(SchemaView, HasNoRowOfATableThatIsNotThere) {
  const SchemaViews views;
  const Access access = views.Of(Snapshot(), OfTenant("acme"));
  EXPECT_TRUE(access.ClampOf("BY_TENANT")->Admits("acme#1500000000000"));
  EXPECT_FALSE(access.ClampOf("BY_HOST")->Admits("acme#1500000000000"));
  EXPECT_FALSE(access.ClampOf("NOWHERE")->Admits("acme#1500000000000"));
}

TEST(SchemaView, IsTheSnapshotItselfForWhoeverHasNoScope) {
  const SchemaViews views;
  const auto snapshot = Snapshot();
  const Access access = views.Of(snapshot, *Anybody());
  EXPECT_EQ(access.snapshot, snapshot);
  EXPECT_FALSE(access.is_scoped());
  EXPECT_EQ(access.ClampOf("BY_HOST"), nullptr);
}

TEST(SchemaView, IsMadeOnceForASnapshotAndAScope) {
  const SchemaViews views;
  const auto snapshot = Snapshot();
  const Access first = views.Of(snapshot, OfTenant("acme"));
  EXPECT_EQ(views.Of(snapshot, OfTenant("acme")).view, first.view);
  EXPECT_NE(views.Of(snapshot, OfTenant("acme2")).view, first.view);
  EXPECT_NE(views.Of(Snapshot(), OfTenant("acme")).view, first.view);
}

}  // namespace
}  // namespace tallyd

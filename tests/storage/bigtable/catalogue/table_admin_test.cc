#include "storage/bigtable/catalogue/table_admin.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

Family Keeping(std::optional<int64_t> age_us, std::optional<uint32_t> versions, bool both) {
  Family family;
  family.name = "A";
  family.max_age_us = age_us;
  family.max_versions = versions;
  family.expire_by_both = both;
  return family;
}

TEST(TableAdmin, RulesForgetWhatNobodyIsShown) {
  const TableMode history = TableMode::kHistory;
  EXPECT_FALSE(GcRuleOf(Keeping({}, {}, false), history).has_max_age());
  EXPECT_EQ(GcRuleOf(Keeping(90 * kUsPerSecond, {}, false), history).max_age().seconds(), 90);
  EXPECT_EQ(GcRuleOf(Keeping(1, {}, false), history).max_age().nanos(), 1'000'000);
  EXPECT_EQ(GcRuleOf(Keeping({}, 3, false), history).max_num_versions(), 3);
  EXPECT_EQ(GcRuleOf(Keeping(5 * kUsPerSecond, 3, false), history).union_().rules_size(), 2);
  EXPECT_EQ(GcRuleOf(Keeping(5 * kUsPerSecond, 3, true), history).intersection().rules_size(), 2);
}

TEST(TableAdmin, OfALatestTableTheNewestCellIsAllThatIsKept) {
  const TableMode latest = TableMode::kLatestCell;
  EXPECT_EQ(GcRuleOf(Keeping({}, {}, false), latest).max_num_versions(), 1);
  EXPECT_EQ(GcRuleOf(Keeping(kUsPerDay, 3, true), latest).max_num_versions(), 1);
  EXPECT_EQ(GcRuleOf(Keeping(kUsPerDay, {}, false), latest).union_().rules_size(), 2);
}

TableInfo TableWith(const std::vector<Family>& families) {
  TableInfo table;
  table.name = "T";
  for (const Family& family : families) {
    StoredFamily& stored = table.families.emplace_back();
    stored.name = family.name;
    stored.last = family;
  }
  return table;
}

TEST(TableAdmin, MakesWhatIsMissingAndNothingTwice) {
  BigtableService service;
  const auto client = service.Connect();
  const Family plain = Keeping({}, {}, false);
  ASSERT_TRUE(EnsureTable(client.get(), TableWith({plain}), nullptr, {}));
  ASSERT_TRUE(EnsureTable(client.get(), TableWith({plain}), nullptr, {}));
  EXPECT_EQ(service.server.faults().Count("CreateTable"), 1u);
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 0u);
  Family other = Keeping(kUsPerDay, {}, false);
  other.name = "B";
  ASSERT_TRUE(EnsureTable(client.get(), TableWith({plain, other}), nullptr, {}));
  ASSERT_TRUE(EnsureTable(client.get(), TableWith({plain, other}), nullptr, {}));
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 1u);
}

TEST(TableAdmin, ARuleIsSetByTheFileThatChangesItAndByNoOther) {
  BigtableService service;
  const auto client = service.Connect();
  const TableInfo days = TableWith({Keeping(kUsPerDay, {}, false)});
  ASSERT_TRUE(EnsureTable(client.get(), days, nullptr, {}));
  TableInfo hours = TableWith({Keeping(3600 * kUsPerSecond, {}, false)});
  ASSERT_TRUE(EnsureTable(client.get(), hours, &hours, {}));
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 0u);
  ASSERT_TRUE(EnsureTable(client.get(), hours, &days, {}));
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 1u);
}

TEST(TableAdmin, ARuleIsTheSameInWhateverOrderItNamesItsParts) {
  const admin_api::GcRule ours = GcRuleOf(Keeping(kUsPerDay, 3, false), TableMode::kHistory);
  admin_api::GcRule turned;
  for (const int at : {1, 0}) *turned.mutable_union_()->add_rules() = ours.union_().rules(at);
  EXPECT_TRUE(IsSameRule(ours, turned));
  EXPECT_FALSE(IsSameRule(ours, GcRuleOf(Keeping(kUsPerDay, 3, true), TableMode::kHistory)));
  EXPECT_FALSE(IsSameRule(ours, ours.union_().rules(0)));
}

TEST(TableAdmin, AFamilyThatAnotherMakesMeanwhileLeavesNoneMissing) {
  BigtableService service;
  const auto client = service.Connect();
  const auto other = service.Connect();
  std::vector<Family> families(3, Keeping({}, {}, false));
  families[1].name = "B";
  families[2].name = "C";
  ASSERT_TRUE(EnsureTable(client.get(), TableWith({families[0]}), nullptr, {}));
  bool is_first = true;
  service.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "ModifyColumnFamilies" || !std::exchange(is_first, false)) return {};
    EXPECT_TRUE(EnsureTable(other.get(), TableWith({families[0], families[1]}), nullptr, {}));
    return {};
  });
  ASSERT_TRUE(EnsureTable(client.get(), TableWith(families), nullptr, {}));
  admin_api::GetTableRequest request;
  request.set_name(client->TableName("T"));
  admin_api::Table there;
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  ASSERT_TRUE(client->GetTable(request, &there, deadline).ok());
  EXPECT_EQ(there.column_families().size(), 3u);
}

TEST(TableAdmin, KnowsWhichRuleForgetsMore) {
  const auto rule = [](std::optional<int64_t> days, std::optional<uint32_t> versions, bool both) {
    if (days) *days *= kUsPerDay;
    return GcRuleOf(Keeping(days, versions, both), TableMode::kHistory);
  };
  const admin_api::GcRule none;
  EXPECT_FALSE(MayForgetMore(none, none));
  EXPECT_TRUE(MayForgetMore(rule(7, {}, false), none));
  EXPECT_FALSE(MayForgetMore(none, rule(7, {}, false)));
  EXPECT_FALSE(MayForgetMore(rule(8, {}, false), rule(7, {}, false)));
  EXPECT_TRUE(MayForgetMore(rule(6, {}, false), rule(7, {}, false)));
  EXPECT_TRUE(MayForgetMore(rule(8, 3, false), rule(7, {}, false)));
  EXPECT_FALSE(MayForgetMore(rule(7, {}, false), rule(7, 3, false)));
  EXPECT_FALSE(MayForgetMore(rule(7, 1, true), rule(7, {}, false)));
  EXPECT_FALSE(MayForgetMore(rule(7, 3, true), rule(6, 3, true)));
  EXPECT_TRUE(MayForgetMore(rule(7, 3, false), rule(7, 3, true)));
  EXPECT_TRUE(MayForgetMore(rule(7, 2, true), rule(7, 3, true)));
  admin_api::GcRule deep;
  deep.mutable_union_()->add_rules()->mutable_union_()->add_rules()->set_max_num_versions(1);
  EXPECT_TRUE(MayForgetMore(rule(7, {}, false), deep)) << "nobody knows";
}

TEST(TableAdmin, ARuleThatForgetsMoreWaitsForTheFileToCount) {
  BigtableService service;
  const auto client = service.Connect();
  ASSERT_TRUE(
      EnsureTable(client.get(), TableWith({Keeping(2 * kUsPerDay, {}, false)}), nullptr, {}));
  EnsureOptions first;
  first.may_forget_more = false;
  const TableInfo less = TableWith({Keeping(kUsPerDay, {}, false)});
  ASSERT_TRUE(EnsureTable(client.get(), less, nullptr, first));
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 0u);
  ASSERT_TRUE(
      EnsureTable(client.get(), TableWith({Keeping(3 * kUsPerDay, {}, false)}), nullptr, first));
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 1u);
  ASSERT_TRUE(EnsureTable(client.get(), less, nullptr, {}));
  EXPECT_EQ(service.server.faults().Count("ModifyColumnFamilies"), 2u);
}

TEST(TableAdmin, SaysARuleInTheFilesWords) {
  EXPECT_EQ(TextOf({}), "nothing goes");
  EXPECT_EQ(TextOf(GcRuleOf(Keeping(kUsPerDay, 3, true), TableMode::kHistory)),
            "(max_versions 3 and max_age 86400 s)");
  admin_api::GcRule deep;
  admin_api::GcRule* inner = &deep;
  for (int i = 0; i < 100; ++i) inner = inner->mutable_union_()->add_rules();
  EXPECT_EQ(TextOf(deep), "(((...)))");
}

TEST(TableAdmin, NamesWhatIsMissingWhereItMayNotBeMade) {
  const BigtableService service;
  BigtableConfig config = service.Config();
  config.create = false;
  const auto client = std::move(*BigtableClient::Make(config));
  const Status made = EnsureTable(client.get(), TableWith({Keeping({}, {}, false)}), nullptr, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(made.error().message().find("table projects/p/instances/i/tables/T is missing"),
            std::string::npos);
}

TEST(TableAdmin, RemovesATableThatMayBeGoneAlready) {
  const BigtableService service;
  const auto client = service.Connect();
  MakeRows(client.get(), {"a"});
  EXPECT_TRUE(RemoveTable(client.get(), "T"));
  EXPECT_TRUE(RemoveTable(client.get(), "T"));
}

}  // namespace
}  // namespace tallyd

#include "storage/bigtable/catalogue/bigtable_catalogue.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

class BigtableCatalogueTest : public ::testing::Test {
 protected:
  struct Member {
    explicit Member(BigtableClient* client, const Clock* clock)
        : catalogue(client, clock, kUsPerMs, {}) {
      EXPECT_TRUE(catalogue.Open());
      EXPECT_TRUE(catalogue.Load());
    }
    Status Adopt(const Schema& schema) {
      return catalogue.Adopt(schema, [](const TablePtr&) -> Result<bool> { return false; });
    }
    BigtableCatalogue catalogue;
  };

  // By which the service collects garbage of family A.
  int64_t AgeOf(const std::string& table) {
    admin_api::GetTableRequest request;
    request.set_name(client_->TableName(table));
    request.set_view(admin_api::Table::SCHEMA_VIEW);
    admin_api::Table there;
    const SteadyTime deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    EXPECT_TRUE(client_->GetTable(request, &there, deadline).ok());
    return there.column_families().at("A").gc_rule().max_age().seconds() * kUsPerSecond;
  }

  ManualClock clock_;
  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  Member a_{client_.get(), &clock_};
  Member b_{client_.get(), &clock_};
};

TEST_F(BigtableCatalogueTest, GivesNumbersOnceWhoeverAdopts) {
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H")})));
  ASSERT_TRUE(b_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  for (const char* name : {"H", "N"}) {
    EXPECT_EQ(a_.catalogue.Find(name)->id, b_.catalogue.Find(name)->id) << name;
  }
  EXPECT_NE(a_.catalogue.Find("H")->id, a_.catalogue.Find("N")->id);
}

TEST_F(BigtableCatalogueTest, SeesThatAnotherTookAnotherFile) {
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H")})));
  EXPECT_FALSE(a_.catalogue.is_foreign());
  ASSERT_TRUE(b_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  ASSERT_TRUE(a_.catalogue.Refresh({}));
  EXPECT_TRUE(a_.catalogue.is_foreign());
  EXPECT_FALSE(b_.catalogue.is_foreign());
}

TEST_F(BigtableCatalogueTest, OfAnotherFileOnlyTheStreamsThatDifferMayNotBeWritten) {
  Schema schema = MakeSchema({MakeTable("H"), MakeTable("OTHER")});
  schema.streams.emplace_back().name = "other";
  schema.tables[1].stream = "other";
  ASSERT_TRUE(a_.Adopt(schema));
  schema.tables[1].families[0].max_versions = 7;
  ASSERT_TRUE(b_.Adopt(schema));
  ASSERT_TRUE(a_.catalogue.Refresh({}));
  EXPECT_TRUE(a_.catalogue.is_foreign());
  EXPECT_TRUE(a_.catalogue.Differs("other"));
  EXPECT_FALSE(a_.catalogue.Differs("s"));
  EXPECT_NE(a_.catalogue.WhyForeign().find("(other)"), std::string::npos);
  ASSERT_TRUE(a_.Adopt(schema));
  EXPECT_EQ(a_.catalogue.WhyForeign(), "");
}

TEST_F(BigtableCatalogueTest, AnOlderGenerationIsRefusedWhoeverTookTheNewerOne) {
  Schema newer = MakeSchema({MakeTable("H"), MakeTable("N")});
  newer.generation = 4;
  ASSERT_TRUE(a_.Adopt(newer));
  Schema older = MakeSchema({MakeTable("H")});
  older.generation = 3;
  EXPECT_EQ(b_.Adopt(older).error().code(), ErrorCode::kConflict);
  older.generation = 4;
  EXPECT_EQ(b_.Adopt(older).error().code(), ErrorCode::kConflict);
  ASSERT_TRUE(b_.Adopt(newer));
  older.generation = 5;
  ASSERT_TRUE(b_.Adopt(older));
  EXPECT_EQ(a_.Adopt(newer).error().code(), ErrorCode::kConflict);
}

TEST_F(BigtableCatalogueTest, AFileThatComesTooLateTightensNoRule) {
  Schema schema = MakeSchema({MakeTable("H")});
  schema.generation = 2;
  schema.tables[0].families[0].max_age_us = 30 * kUsPerDay;
  ASSERT_TRUE(a_.Adopt(schema));
  Schema old = schema;
  old.generation = 3;
  old.tables[0].families[0].max_age_us = kUsPerDay;
  Schema newer = schema;
  newer.generation = 4;
  newer.tables.push_back(MakeTable("N"));
  bool is_first = true;
  service_.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    const bool counts = call.method == "CheckAndMutateRow" && call.row_key == kSchemaRow;
    if (counts && std::exchange(is_first, false)) {
      EXPECT_TRUE(a_.Adopt(newer));
    }
    return {};
  });
  EXPECT_EQ(b_.Adopt(old).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(AgeOf("H"), 30 * kUsPerDay);
  old.generation = 5;
  ASSERT_TRUE(b_.Adopt(old));
  EXPECT_EQ(AgeOf("H"), kUsPerDay);
}

TEST_F(BigtableCatalogueTest, NumbersWhatWasMissedBehindTheAdoptionThatMayMissIt) {
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H")})));
  const uint64_t before = a_.catalogue.sequence();
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  const uint64_t since = a_.catalogue.Find("N")->membership.since;
  EXPECT_LT(before, since + 1);
  EXPECT_GT(a_.catalogue.sequence(), since);
}

TEST_F(BigtableCatalogueTest, NumbersThatNobodyCanHaveGivenAreDamage) {
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  const CatalogueCells before = *b_.catalogue.rows().Read(kSchemaRow);
  const auto put = [&](const std::string& column, const std::string& value) {
    std::vector<CatalogueEntry> entries(1);
    entries[0].set_row_key(std::string(kSchemaRow));
    SetCatalogueCell(column, value, 0, &entries[0]);
    return b_.catalogue.rows().Write(std::move(entries));
  };
  for (const auto& [column, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"next", "2"},
           {"next", "0"},
           {"version", "9223372036854775807-x"},
           {"t/1", before.at("t/2")}}) {
    ASSERT_TRUE(put(column, value));
    const Status read = b_.catalogue.Refresh({});
    ASSERT_FALSE(read) << column;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption) << column;
    ASSERT_TRUE(put(column, before.at(column)));
    EXPECT_TRUE(b_.catalogue.Refresh({}));
  }
}

TEST_F(BigtableCatalogueTest, RefusesItsOwnTablesName) {
  Schema own = MakeSchema({MakeTable("tallyd_catalogue")});
  EXPECT_EQ(a_.Adopt(own).error().code(), ErrorCode::kInvalid);
}

TEST_F(BigtableCatalogueTest, NamesTheAggregateFamilyThatTheServiceHasNot) {
  Schema sums = MakeSchema({MakeTable("H")});
  sums.tables[0].families[1].aggregate = Aggregate::kHll;
  const Status refused = a_.Adopt(sums);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(refused.error().message().find("tables.H.families.B.aggregate"), std::string::npos);
  sums.tables[0].families[1].aggregate = Aggregate::kMax;
  EXPECT_TRUE(a_.Adopt(sums));
}

// H with nightly tables, and some of these.
Schema WithNights(const std::vector<std::string>& nights) {
  Schema schema = MakeSchema({MakeTable("H")});
  schema.tables[0].daily = *ParseDailyName("H_{date}");
  for (const std::string& night : nights) {
    schema.tables.push_back(MakeTable(night));
    schema.tables.back().nightly = NightlyOf{"H", 0};
  }
  return schema;
}

TEST_F(BigtableCatalogueTest, ANightlyTableIsOneUnderItsNameFromItsBeginToItsEnd) {
  const Table night = WithNights({"H_20170726"}).tables[1];
  ASSERT_TRUE(a_.Adopt(WithNights({})));
  service_.server.faults().Forget();
  for (int build = 0; build < 3; ++build) {
    const Result<TablePtr> staged = a_.catalogue.Stage(night);
    ASSERT_TRUE(staged) << staged.error().message();
    ASSERT_TRUE(a_.catalogue.Swap(night, (*staged)->id));
    EXPECT_EQ(a_.catalogue.DropStaged(night.name).has_value(), build > 0);
    EXPECT_EQ(a_.catalogue.Find(night.name)->id, (*staged)->id);
  }
  EXPECT_EQ(service_.server.faults().Count("CreateTable"), 1u);
  EXPECT_EQ(service_.server.faults().Count("DeleteTable"), 0u);
  ASSERT_TRUE(a_.catalogue.Swap(night, 0));
  EXPECT_EQ(service_.server.faults().Count("DeleteTable"), 0u) << "who reads it may end";
  ASSERT_TRUE(a_.catalogue.DropStaged(night.name));
  EXPECT_EQ(service_.server.faults().Count("DeleteTable"), 1u);
}

TEST_F(BigtableCatalogueTest, ANightlyTableOfAnotherDaemonStaysInUseWhoeverAdopts) {
  const Table night = WithNights({"H_20170726"}).tables[1];
  ASSERT_TRUE(a_.Adopt(WithNights({})));
  const Result<TablePtr> staged = a_.catalogue.Stage(night);
  ASSERT_TRUE(staged);
  ASSERT_TRUE(a_.catalogue.Swap(night, (*staged)->id));
  ASSERT_TRUE(b_.Adopt(WithNights({}))) << "composed before that";
  ASSERT_TRUE(b_.Adopt(WithNights({"H_20170726"})));
  const TablePtr seen = b_.catalogue.Find("H_20170726");
  EXPECT_EQ(seen->id, (*staged)->id);
  EXPECT_FALSE(seen->orphaned);
  EXPECT_EQ(seen->membership.away_since, 0u);
  EXPECT_EQ(seen->membership.whole_from, 0);
  EXPECT_FALSE(a_.catalogue.is_foreign());
}

TEST_F(BigtableCatalogueTest, ANightlyTableThatAnotherDaemonRemovedIsNotMadeAnewByAnAdoption) {
  const Table night = WithNights({"H_20170726"}).tables[1];
  ASSERT_TRUE(a_.Adopt(WithNights({})));
  const Result<TablePtr> staged = a_.catalogue.Stage(night);
  ASSERT_TRUE(staged);
  ASSERT_TRUE(a_.catalogue.Swap(night, (*staged)->id));
  ASSERT_TRUE(a_.catalogue.Swap(night, 0));
  ASSERT_TRUE(b_.Adopt(WithNights({"H_20170726"}))) << "composed before that";
  EXPECT_EQ(b_.catalogue.Find("H_20170726"), nullptr);
  ASSERT_TRUE(a_.catalogue.DropStaged(night.name));
  EXPECT_EQ(service_.server.faults().Count("DeleteTable"), 1u);
}

TEST_F(BigtableCatalogueTest, OfTwoThatMakeANightlyTableTheFirstLosesIt) {
  const Table night = WithNights({"H_20170726"}).tables[1];
  ASSERT_TRUE(a_.Adopt(WithNights({})));
  ASSERT_TRUE(b_.Adopt(WithNights({})));
  const Result<TablePtr> first = a_.catalogue.Stage(night);
  const Result<TablePtr> second = b_.catalogue.Stage(night);
  ASSERT_TRUE(first && second);
  const Status late = a_.catalogue.Swap(night, (*first)->id);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(a_.catalogue.Find(night.name), nullptr);
  EXPECT_TRUE(b_.catalogue.Swap(night, (*second)->id));
}

TEST_F(BigtableCatalogueTest, DropsAnOrphanedTableWithItsRows) {
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  EXPECT_EQ(a_.catalogue.Drop("N").error().code(), ErrorCode::kConflict);
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H")})));
  ASSERT_TRUE(a_.catalogue.Drop("N"));
  EXPECT_EQ(a_.catalogue.Find("N"), nullptr);
  EXPECT_EQ(service_.server.faults().Count("DeleteTable"), 1u);
}

TEST_F(BigtableCatalogueTest, WhatADroppedTableMissedIsForgottenByAll) {
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H"), MakeTable("N")})));
  const TableId id = a_.catalogue.Find("N")->id;
  BigtableBatch::Notes notes;
  notes.missed[{id, "LOAD"}] = kMissedInside;
  const auto entries = a_.catalogue.notes().EntriesOf(notes, a_.catalogue.sequence(), 0);
  ASSERT_TRUE(a_.catalogue.rows().Write(entries));
  a_.catalogue.notes().Learn(entries);
  ASSERT_TRUE(a_.Adopt(MakeSchema({MakeTable("H")})));
  ASSERT_TRUE(a_.catalogue.Drop("N"));
  ASSERT_TRUE(a_.catalogue.Refresh({}));
  ASSERT_TRUE(b_.catalogue.Refresh({}));
  EXPECT_TRUE(a_.catalogue.notes().Missed(id).empty());
  EXPECT_TRUE(b_.catalogue.notes().Missed(id).empty());
}

}  // namespace
}  // namespace tallyd

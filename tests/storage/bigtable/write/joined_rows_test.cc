#include "storage/bigtable/write/joined_rows.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class JoinedRowsTest : public ::testing::Test {
 protected:
  JoinedRowsTest() {
    MakeRows(client_.get(), {});
    table_.name = "T";
    table_.families.emplace_back().name = "A";
    table_.family_rank = {0};
  }
  BigtableBatch::Entry EntryOf(const std::string& row, const std::string& value) {
    BigtableBatch::Entry made;
    made.table = tables_.Of(table_);
    made.entry.set_row_key(row);
    auto* const cell = made.entry.add_mutations()->mutable_set_cell();
    cell->set_family_name("A");
    cell->set_column_qualifier("x");
    cell->set_timestamp_micros(1000);
    cell->set_value(value);
    return made;
  }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  WireTables tables_{*client_};
  TableInfo table_;
};

TEST_F(JoinedRowsTest, SendEachRowOnceAndTellEachBatchThatHasIt) {
  std::vector<BigtableBatch::Entry> entries = {EntryOf("r", "1"), EntryOf("s", "2"),
                                               EntryOf("r", "3")};
  JoinedRows rows(1);
  for (size_t user = 0; user < entries.size(); ++user) rows.Add(user, &entries[user]);
  std::vector<size_t> told;
  rows.Write(client_.get(), std::chrono::steady_clock::now() + std::chrono::seconds(10),
             [&](size_t user, const BigtableBatch::Entry&, const BulkRow& written) {
               EXPECT_TRUE(written.ended.ok());
               told.push_back(user);
             });
  EXPECT_EQ(told, (std::vector<size_t>{0, 2, 1}));
  EXPECT_EQ(entries[0].entry.mutations_size(), 1) << "each batch stays as it is";
  EXPECT_EQ(service_.server.faults().Count("Entry T"), 2u);
}

TEST_F(JoinedRowsTest, KeepATokenThatARowHas) {
  std::vector<BigtableBatch::Entry> entries = {EntryOf("r", "1"), EntryOf("s", "2")};
  GiveToken("of the journal/", 7, &entries[0].entry);
  JoinedRows rows(1);
  for (size_t user = 0; user < entries.size(); ++user) rows.Add(user, &entries[user]);
  rows.GiveTokens();
  EXPECT_EQ(entries[0].entry.idempotency().token(), "of the journal/7");
  EXPECT_TRUE(entries[1].entry.has_idempotency());
}

}  // namespace
}  // namespace tallyd

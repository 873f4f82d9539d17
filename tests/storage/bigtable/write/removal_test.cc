#include "storage/bigtable/write/removal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class RemovalTest : public ::testing::Test {
 protected:
  Status RemoveRows(const KeyRange& rows) {
    TableInfo table;
    table.name = "T";
    table.families.emplace_back().name = "A";
    table.family_rank = {0};
    DeleteSpec what;
    what.rows = rows;
    return Remove(client_.get(), &claims_, {tables_.Of(table), what, {rows}}, kUsPerMs);
  }

  uint64_t Claims() { return service_.server.faults().Count("CheckAndMutateRow"); }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  WireTables tables_{*client_};
  CatalogueRows catalogue_{client_.get()};
  SystemClock clock_;
  Journal journal_{client_.get(), &clock_};
  ClaimRows claims_{&catalogue_, &journal_, &clock_};
};

TEST_F(RemovalTest, DeletesFewRowsOneByOne) {
  const std::string table = MakeRows(client_.get(), {"a1", "a2", "b1"});
  ASSERT_TRUE(RemoveRows(PrefixRange("a")));
  EXPECT_EQ(service_.server.RowsOf(table), 1u);
  EXPECT_EQ(service_.server.faults().Count("DropRowRange"), 0u);
}

TEST_F(RemovalTest, DropsAPrefixOfVeryManyRows) {
  std::vector<std::string> keys = {"b"};
  for (uint64_t i = 0; i <= kRowsDeletedSingly; ++i) {
    keys.push_back("a" + std::to_string(100'000 + i));
  }
  const std::string table = MakeRows(client_.get(), keys);
  ASSERT_TRUE(catalogue_.Open());
  const Claiming::Held others{std::string("\0drop\0T", 7), "somebody else"};
  ASSERT_EQ(*claims_.Claim(others), Claiming::Fate::kOwn);
  const uint64_t claims = Claims();
  Status removed;
  std::thread waits([&] { removed = RemoveRows(PrefixRange("a")); });
  // When it looks a second time it was told so.
  while (Claims() < claims + 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(service_.server.faults().Count("DropRowRange"), 0u) << "it is another one's turn";
  ASSERT_TRUE(claims_.Release({&others, 1}));
  waits.join();
  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_EQ(service_.server.RowsOf(table), 1u);
  EXPECT_EQ(service_.server.faults().Count("DropRowRange"), 1u);
  EXPECT_EQ(*claims_.Claim(others), Claiming::Fate::kOwn) << "it was given back";
}

TEST_F(RemovalTest, DoesNothingForTimesThatNoCellHas) {
  const std::string table = MakeRows(client_.get(), {"a"});
  TableInfo info;
  info.name = "T";
  info.families.emplace_back().name = "A";
  info.family_rank = {0};
  DeleteSpec what;
  what.cells = {1, 1000};
  ASSERT_TRUE(Remove(client_.get(), &claims_, {tables_.Of(info), what, {what.rows}}, kUsPerMs));
  EXPECT_EQ(service_.server.RowsOf(table), 1u);
}

}  // namespace
}  // namespace tallyd

#include "storage/bigtable/read/bigtable_scan.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class BigtableScanTest : public ::testing::Test {
 protected:
  static TablePtr TableT() {
    TableInfo table;
    table.name = "T";
    StoredFamily& family = table.families.emplace_back();
    family.name = "A";
    family.configured = true;
    table.family_rank = {0};
    return std::make_shared<const TableInfo>(std::move(table));
  }
  std::vector<std::string> Keys(const ScanSpec& spec, bool reverses, std::string skip_to = {}) {
    BigtableScan scan(client_.get(), {.reverses = reverses}, TableT(), spec);
    if (!skip_to.empty()) scan.SkipTo(skip_to);
    std::vector<std::string> keys;
    while (true) {
      const Result<bool> more = scan.Next();
      EXPECT_TRUE(more) << more.error().message();
      if (!more || !*more) return keys;
      EXPECT_EQ(ToText(scan.row().cells[0].value), scan.row().key);
      keys.emplace_back(scan.row().key);
    }
  }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
};

TEST_F(BigtableScanTest, TurnsRowsRoundWhereTheServiceDoesNot) {
  MakeRows(client_.get(), {"a", "b", "c", "d"});
  ScanSpec spec;
  spec.reverse = true;
  spec.limit = 2;
  for (const bool reverses : {true, false}) {
    EXPECT_EQ(Keys(spec, reverses), (std::vector<std::string>{"d", "c"}));
    EXPECT_EQ(Keys(spec, reverses, "bb"), (std::vector<std::string>{"b", "a"}));
  }
}

TEST_F(BigtableScanTest, SaysThatATableIsGone) {
  BigtableScan scan(client_.get(), {}, TableT(), {});
  const Result<bool> more = scan.Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kUnavailable);
}

TEST_F(BigtableScanTest, ReadsADayInOneRoundTrip) {
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back("m#" + std::to_string(1000 + i));
  MakeRows(client_.get(), keys);
  service_.server.faults().Forget();
  ScanSpec spec;
  spec.ranges = {PrefixRange("m#")};
  EXPECT_EQ(Keys(spec, true).size(), keys.size());
  EXPECT_EQ(service_.server.faults().Count("ReadRows"), 1u);
}

}  // namespace
}  // namespace tallyd

#include "service/query/scan/same_table.h"

#include <gtest/gtest.h>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class SameTableTest : public QueryTest {
 protected:
  static std::string Taking(const std::string& field) {
    return std::string(kMetric) + "columns = [{family = \"F\", fields = [\"" + field + "\"]}]\n";
  }
  TablePtr Found() { return world().context().store.FindTable("METRIC"); }
  bool IsSame(const TablePtr& began) {
    return CheckSameTable(world().context().store, *began).has_value();
  }
};

TEST_F(SameTableTest, ATableIsTheSameUntilItsRulesChange) {
  Begin(Taking("x"));
  const TablePtr began = Found();
  Take(EventAt(1, R"("x":1)"));
  ASSERT_TRUE(world().Reload(Taking("x") + kByDay));
  EXPECT_TRUE(IsSame(began));
  ASSERT_TRUE(world().Reload(Taking("y")));
  EXPECT_FALSE(IsSame(began));
}

TEST_F(SameTableTest, RulesThatWentAndAreBackAreOthers) {
  Begin(Taking("x"));
  const TablePtr began = Found();
  ASSERT_TRUE(world().Reload(Taking("y")));
  ASSERT_TRUE(world().Reload(Taking("x")));
  EXPECT_FALSE(IsSame(began)) << "it may have been emptied meanwhile";
  EXPECT_TRUE(IsSame(Found()));
}

}  // namespace
}  // namespace tallyd

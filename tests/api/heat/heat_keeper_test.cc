#include "service/heat/heat_keeper.h"

#include <gtest/gtest.h>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

TEST(HeatKeeperTest, SavesWhenItIsStopped) {
  ApiWorld world("[tables.HOT]\npattern = \"latest\"\nrow_key = \"{user}\"\nfamilies.F = {}\n");
  Store& store = world.context().store;
  HeatMap heat;
  HeatKeeper keeper(&heat, &store, &world.clock());
  RowStems stems;
  stems.Add(store.FindTable("HOT")->id, "a", {0, true, 1});
  heat.Add(HeatMetric::kWrites, stems, world.clock().Now());
  keeper.Stop();
  EXPECT_EQ(1u, store.Memos("heat/", 10)->size());
  keeper.Stop();
}

}  // namespace
}  // namespace tallyd

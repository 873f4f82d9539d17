#include "service/limits/row_measurer.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr const char* kRowMeasurerTables =
    "[tables.T]\nstream = \"s\"\npattern = \"new-cell\"\nrow_key = \"{id}\"\nfamilies.F = {}\n";

TEST(RowMeasurerTest, ARowIsAsLargeAsItsValues) {
  ApiWorld world(kRowMeasurerTables);
  world.Post("s",
             R"([{"ts": 1, "id": "a", "v": "12345", "n": 7}, {"ts": 2, "id": "a", "v": "1"}])");
  Store& store = world.context().store;
  const TablePtr table = store.FindTable("T");
  EXPECT_EQ(MeasureRow(&store, table, "a", world.clock().Now()), 5u + 8 + 1);
  EXPECT_EQ(MeasureRow(&store, table, "b", world.clock().Now()), 0u);
}

TEST(RowMeasurerTest, MeasuresWhatIsDue) {
  ApiWorld world(kRowMeasurerTables);
  world.Post("s", R"([{"ts": 1, "id": "a", "v": "12345"}])");
  Store& store = world.context().store;
  RowSizes sizes;
  RowMeasurer measurer(&sizes, &store, &world.clock());
  RowBytes batch(RowSampling{true, 0});
  batch.Add(store.FindTable("T"), "a", 1, kMaxRowBytes);
  sizes.Add(batch);
  for (int i = 0; i < 3000 && !sizes.Large().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(sizes.Large().empty());
  measurer.Stop();
}

}  // namespace
}  // namespace tallyd

#include "storage/engines.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

TEST(Engines, TheOneOfThisMachineIsOpenedByItsName) {
  const TempDir directory;
  prometheus::Registry registry;
  ManualClock clock;
  EngineParts parts;
  parts.storage = TestStorage(directory);
  parts.storage.engine = "leveldb";
  parts.clock = &clock;
  parts.registry = &registry;
  const Result<std::unique_ptr<Store>> opened = OpenStore(parts);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ((*opened)->capabilities().engine, "leveldb");
}

TEST(Engines, AnotherIsRefusedAndThoseThatThereAreAreNamed) {
  EngineParts parts;
  parts.storage.engine = "rocks";
  const Result<std::unique_ptr<Store>> opened = OpenStore(parts);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message(), "storage.engine: \"rocks\" is unknown; accepted: leveldb, "
            "bigtable");
}

}  // namespace
}  // namespace tallyd

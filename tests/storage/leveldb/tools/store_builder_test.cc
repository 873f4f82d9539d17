// A store is made in an empty directory only, and is none before it is complete.
#include "storage/leveldb/tools/store_builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

class StoreBuilderTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override { config().path = path() + "/made/here"; }

  Status Build(StoreBuilder* builder) {
    std::string next;
    PutU32(&next, 1);
    Status done = builder->CheckTarget();
    if (done) done = builder->Begin();
    if (done) done = builder->Write(1, [](const StoreBuilder::Put&) { return Status(); });
    if (!done) return done;
    return builder->Write(StoreBuilder::kBase, [&](const StoreBuilder::Put& put) {
      const Status format = put(MetaKey(MetaKind::kFormat), EncodeFormat(kFormatVersion));
      return format ? put(MetaKey(MetaKind::kNextTable), next) : format;
    });
  }
};

TEST_F(StoreBuilderTest, WhatIsCompleteOpens) {
  StoreBuilder builder(config());
  ASSERT_TRUE(Build(&builder));
  ASSERT_TRUE(builder.Complete());
  Open();
  ASSERT_TRUE(Adopt(SmallStore::SchemaOf()));
  EXPECT_TRUE(Write("H", "row", 1, {{"A", "value", Value::Int(1)}}));
}

TEST_F(StoreBuilderTest, WhatIsNotCompleteDoesNotOpen) {
  StoreBuilder builder(config());
  ASSERT_TRUE(Build(&builder));
  EXPECT_FALSE(TryOpen());
  builder.Leave();
  EXPECT_FALSE(std::filesystem::exists(config().path));
}

TEST_F(StoreBuilderTest, AnotherDirectoryStaysAsItIs) {
  std::filesystem::create_directories(config().path);
  std::ofstream(config().path + "/note") << "mine";
  StoreBuilder builder(config());
  const Status fits = builder.CheckTarget();
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().code(), ErrorCode::kConflict);
}

}  // namespace
}  // namespace tallyd

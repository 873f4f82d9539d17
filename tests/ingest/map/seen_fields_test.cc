#include "ingest/map/seen_fields.h"

#include <gtest/gtest.h>

#include "config/file/config.h"
#include "tests/ingest/schema_store.h"

namespace tallyd {
namespace {

class SeenFieldsTest : public testing::Test {
 protected:
  void Store(std::vector<FieldInfo> fields) {
    store_.fields = std::move(fields);
    now_ += 1'000'000;
    seen_.Refresh(now_);
  }

  SchemaStore store_{Schema()};
  SeenFields seen_{store_, "s"};
  TimeUs now_ = 1'700'000'000'000'000;
};

TEST_F(SeenFieldsTest, TheStoreIsAskedOnlyAfterSomethingWasMissed) {
  Store({{"a", 2, 0}});
  EXPECT_EQ(seen_.KnownTypes("a"), 0);
  seen_.NoteMissing();
  Store({{"a", 2, 0}});
  EXPECT_EQ(seen_.KnownTypes("a"), 2);
}

TEST_F(SeenFieldsTest, TheLastSpellingIsTheOneThatTheStoreHas) {
  seen_.NoteMissing();
  Store({{"BID", 2, 4}, {"Bid", 2, 9}, {"bid", 2, 0}});
  EXPECT_TRUE(seen_.IsLastSpelling("BID", "Bid"));
  EXPECT_FALSE(seen_.IsLastSpelling("BID", "BID"));
  EXPECT_FALSE(seen_.IsLastSpelling("ASK", "Ask"));
}

TEST_F(SeenFieldsTest, WhatABatchBringsCountsOnlyWhenTheStoreAgrees) {
  seen_.NoteMissing();
  Store({{"Bid", 2, 9}});
  seen_.NoteSpelling("BID", "BID");
  EXPECT_FALSE(seen_.IsLastSpelling("BID", "BID"));
  EXPECT_FALSE(seen_.IsLastSpelling("BID", "Bid"));
  Store({{"Bid", 2, 9}});  // Not committed yet.
  EXPECT_FALSE(seen_.IsLastSpelling("BID", "Bid"));
  Store({{"BID", 2, 12}, {"Bid", 2, 9}});
  EXPECT_TRUE(seen_.IsLastSpelling("BID", "BID"));
}

}  // namespace
}  // namespace tallyd

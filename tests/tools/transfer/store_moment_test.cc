// A store has all that it had unless it is another one, or was put back from an older copy.
#include "tools/transfer/store_moment.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

Json StoreThatTells(uint64_t before, const Json& openings, uint64_t changes) {
  return {{"id", "s"}, {"openings_before", before}, {"openings", openings}, {"changes", changes}};
}

TEST(StoreMomentTest, ARestartLosesNothing) {
  const Json store = StoreThatTells(0, {{{"id", "a"}, {"changes", 0u}}}, 70);
  const StoreMoment moment = MomentOfJson(JsonOfMoment(MomentOf(store)));
  EXPECT_EQ(moment.opening, "a");
  EXPECT_TRUE(HasAllOf(store, moment));
  EXPECT_TRUE(HasAllOf(
      StoreThatTells(0, {{{"id", "a"}, {"changes", 0u}}, {{"id", "b"}, {"changes", 70u}}}, 70),
      moment));
  EXPECT_TRUE(HasAllOf(StoreThatTells(1, {{{"id", "b"}, {"changes", 90u}}}, 95), moment));
}

TEST(StoreMomentTest, AnotherStoreAndOneThatWasPutBackLackSomething) {
  const StoreMoment moment{"s", "a", 2, 70};
  EXPECT_FALSE(HasAllOf({{"id", "t"}}, moment));
  EXPECT_FALSE(HasAllOf(Json::object(), moment));
  const Json put_back =
      StoreThatTells(1, {{{"id", "a"}, {"changes", 0u}}, {{"id", "b"}, {"changes", 40u}}}, 99);
  EXPECT_FALSE(HasAllOf(put_back, moment)) << "it went on from less";
  const Json older =
      StoreThatTells(0, {{{"id", "x"}, {"changes", 0u}}, {{"id", "b"}, {"changes", 80u}}}, 99);
  EXPECT_FALSE(HasAllOf(older, moment)) << "it never had that opening";
}

TEST(StoreMomentTest, WhatIsNotToldIsNotCompared) {
  EXPECT_TRUE(HasAllOf({{"id", "s"}}, {"s", "a", 1, 70}));
  EXPECT_TRUE(HasAllOf(StoreThatTells(0, {{{"id", "b"}, {"changes", 0u}}}, 1), {"s", "", 0, 0}));
  EXPECT_TRUE(HasAllOf(StoreOfStatus("<html>"), {}));
  EXPECT_EQ(MomentOf(StoreOfStatus(R"({"store":{"id":"s"}})")).id, "s");
}

}  // namespace
}  // namespace tallyd

#include "service/idempotency/keys.h"

#include <gtest/gtest.h>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using Found = std::optional<KeyedAnswer>;

class IdempotencyKeysTest : public ::testing::Test {
 protected:
  std::unique_ptr<KeyClaim> Claim(const std::string& key, const std::string& body,
                                  const std::string& scope = "events of s") {
    std::unique_ptr<KeyClaim> granted;
    keys_.Claim({scope, key, PrintOf("json", body)},
                [&](std::unique_ptr<KeyClaim> claim) { granted = std::move(claim); });
    return granted;
  }
  Found Find(const std::string& key, const std::string& body,
             const std::string& scope = "events of s") {
    const Result<Found> found = Claim(key, body, scope)->Find();
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : Found();
  }
  void Answer(const std::string& key, const std::string& body, const std::string& answer) {
    const auto claim = Claim(key, body);
    auto batch = store().NewBatch();
    ASSERT_TRUE(claim->Remember({200, answer}, batch.get()));
    ASSERT_TRUE(store().Commit(std::move(batch)));
  }
  void Pass(int64_t us) {
    world_.clock().now += us;
    ASSERT_TRUE(store().TrustClock());
  }
  size_t MemosLeft() { return store().Memos({}, SIZE_MAX)->size(); }
  Store& store() { return world_.context().store; }

  ApiWorld world_{"[tables.T]\npattern = \"latest\"\nrow_key = \"{k}\"\nfamilies.F = {}\n"};
  IdempotencyKeys keys_{&store(), &world_.clock()};
};

TEST_F(IdempotencyKeysTest, TheFirstAnswerIsFoundAgain) {
  EXPECT_EQ(Find("k", "body"), Found());
  Answer("k", "body", "{\"events\":1}");
  EXPECT_EQ(Find("k", "body"), (KeyedAnswer{200, "{\"events\":1}"}));
  EXPECT_EQ(Find("k2", "body"), Found()) << "another key";
  EXPECT_EQ(Find("k", "body", "events of t"), Found()) << "another scope";
}

TEST_F(IdempotencyKeysTest, BelongToTheirTokenAndThoseGivenBeforeTokensStillCount) {
  const auto find = [this](const std::string& key, const std::string& owner) {
    std::unique_ptr<KeyClaim> granted;
    keys_.Claim({"events of s", key, PrintOf("json", "body"), owner},
                [&](std::unique_ptr<KeyClaim> claim) { granted = std::move(claim); });
    const Result<Found> found = granted->Find();
    EXPECT_TRUE(found);
    if (found && !*found) {
      auto batch = store().NewBatch();
      EXPECT_TRUE(granted->Remember({200, "of " + owner}, batch.get()));
      EXPECT_TRUE(store().Commit(std::move(batch)));
    }
    return found ? *found : Found();
  };
  EXPECT_EQ(find("mine", "acme"), Found());
  EXPECT_EQ(find("mine", "other"), Found()) << "another token's key is another key";
  EXPECT_EQ(find("mine", "acme"), (KeyedAnswer{200, "of acme"}));
  EXPECT_EQ(Find("mine", "body"), Found()) << "nor is it nobody's";
  Answer("before", "body", "{}");
  EXPECT_EQ(find("before", "acme"), (KeyedAnswer{200, "{}"}));
}

TEST_F(IdempotencyKeysTest, ThoseGivenBeforeTokensTellNothingToWhoeverHasAScope) {
  Answer("before", "body", "{}");
  for (const char* const body : {"body", "other body"}) {
    KeyedRequest request{"events of s", "before", PrintOf("json", body), "acme"};
    request.takes_ownerless = false;
    std::unique_ptr<KeyClaim> granted;
    keys_.Claim(request, [&](std::unique_ptr<KeyClaim> claim) { granted = std::move(claim); });
    const Result<Found> found = granted->Find();
    ASSERT_TRUE(found) << body;
    EXPECT_EQ(*found, Found()) << body;
  }
}

TEST_F(IdempotencyKeysTest, AnotherRequestWithTheKeyIsUnprocessable) {
  Answer("k", "body", "{}");
  const Result<Found> found = Claim("k", "other body")->Find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kUnprocessable);
}

TEST_F(IdempotencyKeysTest, WhatIsNotCommittedIsNotRemembered) {
  {
    const auto claim = Claim("k", "body");
    auto batch = store().NewBatch();
    ASSERT_TRUE(claim->Remember({200, "{}"}, batch.get()));
  }
  EXPECT_EQ(Find("k", "another body"), Found());
}

TEST_F(IdempotencyKeysTest, ATwinWaitsUntilTheFirstLetsGo) {
  auto first = Claim("k", "body");
  std::vector<std::unique_ptr<KeyClaim>> others;
  for (int i = 0; i < 2; ++i) {
    keys_.Claim({"events of s", "k", PrintOf("json", "body")},
                [&](std::unique_ptr<KeyClaim> claim) { others.push_back(std::move(claim)); });
  }
  EXPECT_TRUE(Claim("other", "body")) << "other keys need not wait";
  EXPECT_TRUE(others.empty());
  first.reset();
  ASSERT_EQ(others.size(), 1u) << "one at a time";
  others.front().reset();
  EXPECT_EQ(others.size(), 2u);
  others.clear();
  EXPECT_TRUE(Claim("k", "body"));
}

TEST_F(IdempotencyKeysTest, AnAnswerIsForgottenADayLater) {
  Answer("k", "body", "{}");
  Pass(kUsPerDay - 1);
  EXPECT_EQ(*keys_.Sweep(), 0u);
  EXPECT_TRUE(Find("k", "body"));
  Pass(1);
  EXPECT_EQ(Find("k", "other body"), Found()) << "whether it was swept or not";
  EXPECT_EQ(MemosLeft(), 0u);
}

TEST_F(IdempotencyKeysTest, SweepingTakesWhatIsDueAndNothingElse) {
  auto batch = store().NewBatch();
  for (int i = 0; i < 1200; ++i) {
    ASSERT_TRUE(Claim("old" + std::to_string(i), "body")->Remember({200, "{}"}, batch.get()));
  }
  ASSERT_TRUE(store().Commit(std::move(batch)));
  Pass(kUsPerDay);
  Answer("new", "body", "{}");
  EXPECT_EQ(*keys_.Sweep(), 1200u);
  EXPECT_EQ(MemosLeft(), 2u);
  EXPECT_TRUE(Find("new", "body"));
  EXPECT_EQ(*keys_.Sweep(), 0u);
}

TEST_F(IdempotencyKeysTest, AKeyThatIsUsedAnewIsForgottenADayAfterThat) {
  Answer("k", "body", "{}");
  Pass(kUsPerDay);
  EXPECT_EQ(Find("k", "body"), Found());
  Answer("k", "body", "{\"second\":true}");
  Pass(kUsPerDay - 1);
  EXPECT_EQ(*keys_.Sweep(), 0u);
  EXPECT_TRUE(Find("k", "body"));
  Pass(1);
  EXPECT_EQ(*keys_.Sweep(), 1u);
  EXPECT_EQ(MemosLeft(), 0u);
}

// As after a clock that was set wrong for a moment.
TEST_F(IdempotencyKeysTest, AJumpOfTheWallClockForgetsNothing) {
  Answer("k", "body", "{}");
  world_.clock().now += 400 * kUsPerDay;
  EXPECT_EQ(*keys_.Sweep(), 0u);
  EXPECT_TRUE(Find("k", "body"));
}

TEST_F(IdempotencyKeysTest, AnAnswerThatWasGivenWhileTheClockWasBehindIsKeptForADay) {
  const TimeUs right = world_.clock().now;
  ASSERT_TRUE(store().TrustClock());
  world_.clock().now = right - 3 * kUsPerDay;
  Answer("k", "body", "{}");
  EXPECT_TRUE(Find("k", "body"));
  world_.clock().now = right;
  EXPECT_EQ(*keys_.Sweep(), 0u) << "the clock is right again";
  EXPECT_TRUE(Find("k", "body"));
  Pass(kUsPerDay - 1);
  EXPECT_EQ(*keys_.Sweep(), 0u);
  EXPECT_TRUE(Find("k", "body"));
  Pass(1);
  EXPECT_EQ(*keys_.Sweep(), 1u);
}

TEST_F(IdempotencyKeysTest, AClockThatWasAheadKeepsNoLaterAnswerForEver) {
  const TimeUs right = world_.clock().now;
  Pass(400 * kUsPerDay);
  world_.clock().now = right;
  Answer("k", "body", "{}");
  world_.clock().now = right + kUsPerDay - 1;
  EXPECT_EQ(*keys_.Sweep(), 0u);
  world_.clock().now = right + kUsPerDay;
  EXPECT_EQ(*keys_.Sweep(), 1u) << "the retention clock stands still for 400 days";
}

TEST_F(IdempotencyKeysTest, AnAnswerThatIsTooLongIsRefusedBeforeAnythingIsCommitted) {
  const auto claim = Claim("k", "body");
  auto batch = store().NewBatch();
  const Status kept = claim->Remember({200, std::string(kMaxMemoValueBytes, 'x')}, batch.get());
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code(), ErrorCode::kUnprocessable);
  EXPECT_TRUE(batch->empty());
}

TEST_F(IdempotencyKeysTest, AStopLetsGoOfThoseThatWait) {
  const auto first = Claim("k", "body");
  auto held = std::make_shared<int>();
  keys_.Claim({"events of s", "k", {}}, [held](std::unique_ptr<KeyClaim>) {});
  EXPECT_EQ(held.use_count(), 2);
  keys_.Start();
  keys_.Stop();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(IdempotencyKeyTest, HasOneTo255Bytes) {
  EXPECT_TRUE(CheckIdempotencyKey(std::string(255, 'k')));
  EXPECT_FALSE(CheckIdempotencyKey(std::string(256, 'k')));
  EXPECT_FALSE(CheckIdempotencyKey(""));
}

TEST(RequestPrintTest, TellsRequestsApart) {
  EXPECT_EQ(PrintOf("a", "b"), PrintOf("a", "b"));
  EXPECT_NE(PrintOf("a", "b"), PrintOf("a", "c"));
  EXPECT_NE(PrintOf("a", "b"), PrintOf("c", "b"));
  EXPECT_NE(PrintOf("ab", ""), PrintOf("a", "b"));
}

}  // namespace
}  // namespace tallyd

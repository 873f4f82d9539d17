#include "ingest/times/arrivals.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "config/schema/schema.h"
#include "storage/leveldb_store.h"

namespace tallyd {
namespace {

constexpr int64_t kSecond = kUsPerSecond;
constexpr int64_t kLag = 2 * kUsPerDay;
constexpr TimeUs kNow = 1'700'000'000 * kSecond;

TEST(GivenTimesTest, TheyAreTheClocksUnlessThoseWereGiven) {
  GivenTimes given;
  EXPECT_EQ(given.Give(kNow, kLag, 100), kNow);
  EXPECT_EQ(given.Give(kNow, kLag, 100), kNow + 100);
  EXPECT_EQ(given.Give(kNow + 150, kLag, 1), kNow + 200);
  EXPECT_EQ(given.Give(kNow + kSecond, kLag, 1), kNow + kSecond);
}

TEST(GivenTimesTest, WithAClockThatIsALittleBehindTheyGoOn) {
  GivenTimes given;
  EXPECT_EQ(given.Give(kNow, kLag, 10), kNow);
  EXPECT_EQ(given.Give(kNow - kLag + 9, kLag, 1), kNow + 10);
  EXPECT_EQ(given.Give(kNow - kSecond, kLag, 1), kNow + 11);
}

TEST(GivenTimesTest, WithAClockThatIsFarBehindTheyFollowItPastWhatWasGiven) {
  GivenTimes given;
  EXPECT_EQ(given.Give(kNow, kLag, 10), kNow);
  const TimeUs ahead = kNow + 1000 * kUsPerDay;
  EXPECT_EQ(given.Give(ahead, kLag, 10), ahead) << "the clock was set wrong";
  EXPECT_EQ(given.Give(kNow + 5, kLag, 10), kNow + 10) << "and right again";
  EXPECT_EQ(given.Give(kNow + kSecond, kLag, 1), kNow + kSecond);
  EXPECT_EQ(given.Give(ahead, kLag, 1), ahead + 10) << "it gets there at last";
}

TEST(GivenTimesTest, WhatWasNotUsedIsGivenAgainUnlessOthersCame) {
  GivenTimes given;
  const TimeUs before = given.last();
  EXPECT_EQ(given.Give(kNow, kLag, 100), kNow);
  EXPECT_TRUE(given.GiveBack(kNow, kNow + 100, before));
  EXPECT_EQ(given.Give(kNow, kLag, 100), kNow);
  EXPECT_TRUE(given.GiveBack(kNow + 10, kNow + 100, kNow + 9));
  EXPECT_EQ(given.Give(kNow, kLag, 100), kNow + 10);
  EXPECT_EQ(given.Give(kNow, kLag, 1), kNow + 110);
  EXPECT_FALSE(given.GiveBack(kNow + 20, kNow + 110, kNow + 19));
  EXPECT_EQ(given.Give(kNow, kLag, 1), kNow + 111);
}

TEST(GivenTimesTest, NoneIsGivenTwiceHoweverTheClockJumps) {
  std::mt19937_64 random(20261127);
  for (int round = 0; round < 200; ++round) {
    auto given = std::make_unique<GivenTimes>();
    std::vector<std::pair<TimeUs, TimeUs>> all;
    TimeUs now = kNow;
    for (int i = 0; i < 200; ++i) {
      const int64_t jump = int64_t{1} << random() % 45;
      now += random() % 3 == 0 ? -jump : jump;
      now = std::clamp<TimeUs>(now, 0, kMaxTimeUs / 2);
      const size_t count = 1 + random() % 1000;
      const TimeUs before = given->last();
      const TimeUs first = given->Give(now, kLag, count);
      TimeUs end = first + static_cast<TimeUs>(count);
      if (random() % 4 == 0) {
        const TimeUs kept = first + static_cast<TimeUs>(random() % count);
        // Not where spans were joined behind it: then nobody gets them.
        given->GiveBack(kept, end, kept == first ? before : kept - 1);
        end = kept;
      }
      if (end > first) all.emplace_back(first, end);
      if (random() % 8 == 0) {
        const std::string bytes = given->Encode();
        EXPECT_LE(bytes.size(), 17 + GivenTimes::kMaxSpans * 16);
        given = std::make_unique<GivenTimes>();
        ASSERT_TRUE(given->Add(bytes));
      }
    }
    std::ranges::sort(all);
    for (size_t i = 1; i < all.size(); ++i) ASSERT_LE(all[i - 1].second, all[i].first) << round;
  }
}

TEST(GivenTimesTest, WhatIsNoSuchListIsRefused) {
  GivenTimes given;
  given.Give(kNow, kLag, 1);
  const std::string bytes = given.Encode();
  EXPECT_FALSE(GivenTimes().Add(""));
  EXPECT_FALSE(GivenTimes().Add(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(GivenTimes().Add("\x02" + bytes.substr(1)));
  std::string turned = bytes;
  std::fill(turned.end() - 8, turned.end(), '\0');
  EXPECT_FALSE(GivenTimes().Add(turned)) << "its end is before its beginning";
}

class ArrivalsTest : public ::testing::Test {
 protected:
  ArrivalsTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "tallyd-arrivals-XXXXXX";
    path_ = mkdtemp(pattern.data());
    LevelDbStoreOptions options;
    options.storage.path = path_ + "/data";
    options.storage.ballast = 0;
    options.clock = &clock_;
    options.registry = &registry_;
    store_ = std::move(*OpenLevelDbStore(options));
    EXPECT_TRUE(store_->Adopt(Schema()));
  }
  ~ArrivalsTest() override {
    store_->Close();
    store_.reset();
    std::filesystem::remove_all(path_);
  }

  // What `events` events get; noted in a batch that is committed.
  TimeUs Give(Arrivals* arrivals, TimeUs now, size_t events, const std::string& stream = "s") {
    ArrivalBlock block(arrivals, stream, {now, kLag, 0});
    const Result<TimeUs> first = block.Take(events);
    EXPECT_TRUE(first) << first.error().message();
    auto batch = store_->NewBatch();
    block.Use(*first + static_cast<TimeUs>(events));
    block.Note(batch.get());
    EXPECT_TRUE(store_->Commit(std::move(batch)));
    return *first;
  }
  size_t Memos() { return store_->Memos("arrival/", 1000)->size(); }

  std::unique_ptr<Store> store_;

 private:
  class FixedClock final : public Clock {
   public:
    TimeUs Now() const override { return kNow; }
    int64_t SteadyUs() const override { return 0; }
  };

  std::string path_;
  FixedClock clock_;
  prometheus::Registry registry_;
};

TEST_F(ArrivalsTest, ARestartKnowsWhatWasGiven) {
  Arrivals before(store_.get());
  EXPECT_EQ(Give(&before, kNow, 1000), kNow);
  EXPECT_EQ(Give(&before, kNow, 1000, "t"), kNow) << "another stream";
  Arrivals after(store_.get());
  EXPECT_EQ(Give(&after, kNow, 10), kNow + 1000);
  EXPECT_EQ(Give(&after, kNow - kSecond, 10, "t"), kNow + 1000);
}

TEST_F(ArrivalsTest, TheOrderOfCommitsDoesNotMatter) {
  Arrivals before(store_.get());
  ArrivalBlock first(&before, "s", {kNow, kLag, 0});
  ArrivalBlock second(&before, "s", {kNow, kLag, 0});
  EXPECT_EQ(*first.Take(100), kNow);
  EXPECT_EQ(*second.Take(100), kNow + 100);
  auto batch_of_first = store_->NewBatch();
  auto batch_of_second = store_->NewBatch();
  first.Use(kNow + 100);
  second.Use(kNow + 200);
  first.Note(batch_of_first.get());
  second.Note(batch_of_second.get());
  ASSERT_TRUE(store_->Commit(std::move(batch_of_second)));
  ASSERT_TRUE(store_->Commit(std::move(batch_of_first)));
  Arrivals after(store_.get());
  EXPECT_EQ(Give(&after, kNow, 1), kNow + 200);
}

TEST_F(ArrivalsTest, OneMemoServesWhoComeOneAfterTheOther) {
  Arrivals arrivals(store_.get());
  for (int i = 0; i < 20; ++i) Give(&arrivals, kNow + i * kSecond, 5);
  EXPECT_EQ(Memos(), 1u);
}

TEST_F(ArrivalsTest, WhatIsNotNotedIsGivenToOthers) {
  Arrivals arrivals(store_.get());
  {
    ArrivalBlock block(&arrivals, "s", {kNow, kLag, 0});
    EXPECT_EQ(*block.Take(100), kNow);
    block.Use(kNow + 50);
  }
  EXPECT_EQ(Give(&arrivals, kNow, 1), kNow);
  EXPECT_EQ(Memos(), 1u);
}

TEST_F(ArrivalsTest, AClockThatIsWrongGivesNone) {
  Arrivals arrivals(store_.get());
  const TimeUs least = 100'000'000 * kSecond;
  for (const TimeUs now :
       {TimeUs{-1}, TimeUs{0}, least - 1, TimeUs{9'300'000'000'000'000}, kMaxTimeUs + 1}) {
    const Result<TimeUs> first = ArrivalBlock(&arrivals, "s", {now, kLag, least}).Take(1);
    ASSERT_FALSE(first) << now;
    EXPECT_EQ(first.error().code(), ErrorCode::kUnavailable);
    EXPECT_NE(first.error().message().find("clock"), std::string::npos);
  }
  EXPECT_EQ(Give(&arrivals, least, 1), least);
}

}  // namespace
}  // namespace tallyd

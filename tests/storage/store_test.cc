#include "storage/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <memory>
#include <set>
#include <string>
#include <thread>

namespace tallyd {
namespace {

using ::testing::HasSubstr;

TEST(WaitForCommitTest, TellsWhatTheStoreToldAtOnce) {
  EXPECT_TRUE(WaitForCommit([](const CommitDone& done) { done({}); }));
  const Status refused = WaitForCommit(
      [](const CommitDone& done) { done(Error(ErrorCode::kOverloaded, "the queue is full")); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOverloaded);
  EXPECT_THAT(refused.error().message(), HasSubstr("the queue is full"));
}

TEST(WaitForCommitTest, WaitsForAnotherThread) {
  std::thread committer;
  const Status committed = WaitForCommit([&](CommitDone done) {
    committer = std::thread([done = std::move(done)] { done(Error(ErrorCode::kIo, "lost")); });
  });
  committer.join();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), ErrorCode::kIo);
}

TEST(StoreMetricsTest, EachInstrumentHasANameOfItsOwnAndBeginsAtZero) {
  prometheus::Registry registry;
  const StoreMetrics metrics(registry);
  metrics.stalls.Increment();
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    ASSERT_EQ(family.metric.size(), 1u) << family.name;
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_EQ(family.name.rfind("tallyd_", 0), 0u) << family.name;
    const prometheus::ClientMetric& metric = family.metric[0];
    const bool incremented = family.name == "tallyd_store_stalls_total";
    EXPECT_EQ(metric.counter.value, incremented ? 1 : 0) << family.name;
    EXPECT_EQ(metric.gauge.value, 0) << family.name;
    EXPECT_EQ(metric.histogram.sample_count, 0u) << family.name;
  }
  EXPECT_EQ(names.size(), 18u);
}

}  // namespace
}  // namespace tallyd

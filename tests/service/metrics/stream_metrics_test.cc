#include "service/metrics/stream_metrics.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

class StreamMetricsTest : public ::testing::Test {
 protected:
  // Nothing: there is no such line.
  std::optional<double> Told(const std::string& name, const std::string& stream) {
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      if (family.name != name) continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (metric.label[0].value != stream) continue;
        return family.type == prometheus::MetricType::Counter ? metric.counter.value
                                                              : metric.gauge.value;
      }
    }
    return std::nullopt;
  }
  std::optional<double> Events(const std::string& stream) {
    return Told("tallyd_events_total", stream);
  }
  std::optional<double> Newest(const std::string& stream) {
    return Told("tallyd_newest_event_timestamp_seconds", stream);
  }

  prometheus::Registry registry_;
  StreamMetrics metrics_{registry_};
};

TEST_F(StreamMetricsTest, EventsAreCountedByStream) {
  metrics_.Count("server", 2, 1'000'000);
  metrics_.Count("server", 3, 2'000'000);
  metrics_.Count("meter", 1, 1'000'000);
  EXPECT_EQ(Events("server"), 5);
  EXPECT_EQ(Events("meter"), 1);
}

TEST_F(StreamMetricsTest, AStreamIsKnownBeforeItHasEvents) {
  metrics_.Know("server");
  EXPECT_EQ(Events("server"), 0);
  EXPECT_EQ(Newest("server"), std::nullopt);
}

TEST_F(StreamMetricsTest, ALateEventIsNotTheNewest) {
  metrics_.Count("server", 1, 1'426'535'612'045'000);
  metrics_.Count("server", 1, 1'426'535'611'000'000);
  EXPECT_EQ(Newest("server"), 1'426'535'612.045);
}

TEST_F(StreamMetricsTest, WhatWasNotStoredHasNoTime) {
  metrics_.Count("server", 1, std::nullopt);
  EXPECT_EQ(Events("server"), 1);
  EXPECT_EQ(Newest("server"), std::nullopt);
}

TEST_F(StreamMetricsTest, TheFirstMomentIsATime) {
  metrics_.Count("server", 1, 0);
  EXPECT_EQ(Newest("server"), 0);
}

}  // namespace
}  // namespace tallyd

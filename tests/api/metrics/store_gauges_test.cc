#include "api/metrics/store_gauges.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tallyd {
namespace {

// Of families with one metric.
std::map<std::string, double> Told(const StoreState& state) {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : GaugesOf(state)) {
    EXPECT_EQ(family.type, prometheus::MetricType::Gauge) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    if (family.metric.size() == 1) values[family.name] = family.metric[0].gauge.value;
  }
  return values;
}

TEST(StoreGaugesTest, AStoreIsWritableWhenItsStateSaysSo) {
  StoreState state;
  state.writable = true;
  EXPECT_EQ(Told(state).at("tallyd_store_writable"), 1);
  state.writable = false;  // Whatever the reason: a failed write, or a full disk.
  EXPECT_EQ(Told(state).at("tallyd_store_writable"), 0);
}

TEST(StoreGaugesTest, GaugesOfOneNameAreOneFamily) {
  StoreState state;
  state.gauges = {{"a", "An a.", {}, 1},
                  {"b", "A b.", {{"level", "0"}}, 2},
                  {"b", "A b.", {{"level", "1"}}, 3}};
  const std::vector<prometheus::MetricFamily> families = GaugesOf(state);
  EXPECT_EQ(Told(state).at("a"), 1);
  const prometheus::MetricFamily& last = families.back();
  EXPECT_EQ(last.name, "b");
  ASSERT_EQ(last.metric.size(), 2u);
  EXPECT_EQ(last.metric[1].label[0].name, "level");
  EXPECT_EQ(last.metric[1].label[0].value, "1");
  EXPECT_EQ(last.metric[1].gauge.value, 3);
}

}  // namespace
}  // namespace tallyd

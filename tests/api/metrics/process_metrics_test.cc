#include "api/metrics/process_metrics.h"

#include <gtest/gtest.h>
#include <time.h>

#include <map>
#include <string>

namespace tallyd {
namespace {

TEST(ProcessMetricsTest, FieldsAreCountedBehindTheNameWhateverItHolds) {
  const std::string behind =
      " S 1 2 3 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 123456 1048576 300 18446744073709551615";
  for (const char* name : {"42 (tallyd)", "42 (a) b (c)", "42 () 1 2 3)"}) {
    const std::optional<ProcessStat> stat = ParseProcessStat(name + behind);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->threads, 7u);
    EXPECT_EQ(stat->start_ticks, 123'456u);
    EXPECT_EQ(stat->virtual_bytes, 1'048'576u);
    EXPECT_EQ(stat->resident_pages, 300u);
  }
}

TEST(ProcessMetricsTest, ATextThatEndsEarlyIsNone) {
  for (const char* text : {"", "42 (tallyd", "42 (tallyd)", "42 (tallyd) S 1 2 3"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
}

std::map<std::string, double> Collect() {
  std::map<std::string, double> values;
  for (const auto& family : CollectProcessMetrics()) {
    EXPECT_EQ(family.metric.size(), 1u) << family.name;
    if (family.metric.empty()) continue;
    values[family.name] = family.metric[0].counter.value + family.metric[0].gauge.value;
  }
  return values;
}

TEST(ProcessMetricsTest, ThisProcessIsTold) {
  std::map<std::string, double> values = Collect();
  EXPECT_EQ(values.size(), 7u);
  EXPECT_GE(values["process_open_fds"], 3);
  EXPECT_GE(values["process_max_fds"], values["process_open_fds"]);
  EXPECT_GT(values["process_resident_memory_bytes"], 1 << 20);
  EXPECT_GT(values["process_virtual_memory_bytes"], values["process_resident_memory_bytes"]);
  EXPECT_GE(values["process_threads"], 1);
  EXPECT_LE(values["process_start_time_seconds"], static_cast<double>(time(nullptr)) + 1);
  EXPECT_GT(values["process_start_time_seconds"], static_cast<double>(time(nullptr)) - 86'400);
}

// Ticks of the kernel are hundredths of a second, and a whole start takes less.
TEST(ProcessMetricsTest, TimeOfTheProcessorIsCountedFinerThanInTicks) {
  const double before = Collect()["process_cpu_seconds_total"];
  EXPECT_GT(before, 0);
  EXPECT_GT(Collect()["process_cpu_seconds_total"], before);
}

}  // namespace
}  // namespace tallyd

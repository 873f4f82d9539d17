#include "ingest/map/timed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <vector>

#include "tests/ingest/world.h"

namespace tallyd {
namespace {

std::string Sensor(std::string_view key, std::string_view name, std::string_view more = "") {
  return fmt::format(
      "[tables.SENSOR]\nstream = \"meter\"\npattern = \"new-column\"\nrow_key = \"{}\"\n"
      "columns = [\n  {{ family = \"METER\", name = \"ID\", value = \"{{meter}}\" }},\n"
      "  {{ family = \"METER\", name = \"{}\", value = \"{{value}}\" }},\n{}]\n"
      "families.METER = {{}}\n",
      key, name, more);
}

std::string ReadingText(int meter, TimeUs time, int value) {
  return fmt::format(R"({{"meter":{},"ts":{},"value":{}}})", meter, time / kUsPerMs, value);
}

TimeUs At(std::string_view rfc3339) { return ParseRfc3339(rfc3339).value(); }

// Which of so many readings with this time went in by the number of their columns.
size_t PutsWithSet(World* world, TimeUs time, int readings) {
  std::string body = "[";
  for (int i = 0; i < readings; ++i) body += (i > 0 ? "," : "") + ReadingText(i, time, i);
  world->Map(body + "]");
  return world->batch->puts_with_set;
}

std::vector<std::string> Sorted(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

constexpr int kMany = 50;
constexpr size_t kLearned = kMany - TimedRows::kRecurs + 1;

TEST(TimedRowsTest, NamesThatRecurAreLearned) {
  World world(Sensor("{meter}#{ts:day}", "{ts:%H%M}"));
  const TimeUs time = At("2017-07-26T00:15:00Z");
  EXPECT_EQ(PutsWithSet(&world, time, kMany), kLearned);
  EXPECT_EQ(PutsWithSet(&world, time, kMany), size_t{kMany});
  // The same minute of another day has the same names.
  EXPECT_EQ(PutsWithSet(&world, time + 40 * kUsPerDay + kUsPerSecond, kMany), size_t{kMany});
  EXPECT_EQ(PutsWithSet(&world, time + 60 * kUsPerSecond, kMany), kLearned);
}

TEST(TimedRowsTest, NamesThatHoldMoreThanARecurringMinuteAreNot) {
  const TimeUs time = At("2017-07-26T00:15:00Z");
  for (const char* name :
       {"{ts:%H%M%S}", "{ts:%Y%m%d}", "{ts:hour}", "{ts:%H}{value}", "{value}"}) {
    World world(Sensor("{meter}#{ts:day}", name));
    EXPECT_EQ(PutsWithSet(&world, time, kMany), 0u) << name;
  }
}

TEST(TimedRowsTest, AStoreThatLearnsNoMoreGetsTheNames) {
  World world(Sensor("{meter}#{ts:day}", "{ts:%H%M}"));
  world.store->max_sets = 0;
  EXPECT_EQ(PutsWithSet(&world, At("2017-07-26T00:15:00Z"), kMany), 0u);
  EXPECT_EQ(world.batch->puts_by_name, size_t{kMany});
}

TEST(TimedRowsTest, ATableLearnsOnlySoManyLists) {
  World world(Sensor("{meter}#{ts:day}", "{ts:%d%H%M}"));
  world.store->max_sets = 2 * TimedRows::kMaxLists;
  const TimeUs first = At("2017-07-01T00:00:00Z");
  size_t learned = 0;
  for (size_t minute = 0; minute < TimedRows::kMaxLists + 10; ++minute) {
    const TimeUs time = first + static_cast<TimeUs>(minute) * 60 * kUsPerSecond;
    learned += PutsWithSet(&world, time, TimedRows::kRecurs);
  }
  EXPECT_EQ(learned, TimedRows::kMaxLists);
}

TEST(TimedRowsTest, ColumnsOfAnotherWriterAreRefusedHoweverOftenTheyCome) {
  const std::string more = R"(  { family = "METER", name = "0015", value = "x" },)";
  World world(Sensor("{meter}#{ts:day}", "{ts:%H%M}", more));
  const TimeUs time = At("2017-07-26T00:15:00Z");
  const std::string first = world.Refusal(ReadingText(1, time, 1));
  EXPECT_NE(first.find("fall on one column"), std::string::npos) << first;
  for (int i = 0; i < kMany; ++i) EXPECT_EQ(world.Refusal(ReadingText(1, time, 1)), first);
  EXPECT_EQ(PutsWithSet(&world, time + 60 * kUsPerSecond, kMany), kLearned);
}

TEST(TimedRowsTest, NamesThatTurnOutAlikeAreRefusedHoweverOftenTheyCome) {
  const std::string more = R"(  { family = "METER", name = "{ts:%M%H}", value = "{value}" },)";
  World world(Sensor("{meter}#{ts:day}", "{ts:%H%M}", more));
  const TimeUs time = At("2017-07-26T07:07:00Z");
  const std::string first = world.Refusal(ReadingText(1, time, 1));
  EXPECT_NE(first.find("fall on one column"), std::string::npos) << first;
  for (int i = 0; i < kMany; ++i) EXPECT_EQ(world.Refusal(ReadingText(1, time, 1)), first);
}

// What is remembered of periods must not show: events of one batch, by one mapper, are what each of
// them is alone.
TEST(TimedRowsTest, EventsOfManyPeriodsAreWhatEachIsAlone) {
  const std::vector<TimeUs> boundaries = {
      0,
      At("1970-01-02T00:00:00Z"),
      At("2016-02-29T00:00:00Z"),
      At("2016-03-01T00:00:00Z"),
      At("2017-01-01T00:00:00Z"),  // In ISO week 52 of 2016.
      At("2017-01-02T00:00:00Z"),
      At("2017-07-26T00:15:00Z"),
      At("2017-07-26T12:00:00Z"),
      At("2100-03-01T00:00:00Z"),
      kMaxTimeUs - kUsPerDay,
  };
  std::mt19937 random(7);
  for (const char* key : {"{meter}#{ts:day}", "{meter}#{ts:week}#{ts:s}", "{meter}#{ts:%Y-%j-%H}",
                          "{ts:bucket(2d)}#{meter}", "{meter}#{ts:%-d.%m.%y}#{ts:minute}",
                          "{meter}#{ts:reverse(ms)}", "{ts:month}#{meter}#{ts:%G%V}"}) {
    for (const char* name : {"{ts:%H%M}", "{ts:%M}", "q{ts:%d}-{ts:%H}", "{ts:%H%M%S}"}) {
      const std::string tables = Sensor(key, name);
      World together(tables);
      for (int batch = 0; batch < 12; ++batch) {
        std::string body = "[";
        std::string alone;
        for (int i = 0; i < 20; ++i) {
          TimeUs time = boundaries[random() % boundaries.size()];
          const TimeUs off[] = {0, -kUsPerMs, kUsPerMs, 30 * kUsPerSecond};
          time = std::clamp(time + off[random() % 4], TimeUs{0}, kMaxTimeUs);
          const std::string reading = ReadingText(100 + i, time, i);
          body += (i > 0 ? "," : "") + reading;
          World fresh(tables);
          fresh.Map(reading);
          alone += fresh.Rows();
        }
        together.Map(body + "]");
        EXPECT_EQ(Sorted(together.Rows()), Sorted(alone)) << key << " " << name;
      }
    }
  }
}

}  // namespace
}  // namespace tallyd

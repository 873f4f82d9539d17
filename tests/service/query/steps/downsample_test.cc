#include "service/query/steps/downsample.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "config/values/integers.h"

namespace tallyd {
namespace {

struct Event {
  TimeUs time = 0;
  std::string host;
  Value value;
};

// Rows as text; floats of sums and averages are not added in the same order, so they are rounded.
std::vector<std::string> RowsOf(Downsampler* steps) {
  EXPECT_TRUE(steps->Finish());
  std::vector<std::string> rows;
  while (*steps->Next()) {
    std::string row = std::to_string(steps->event().time);
    for (const EventField& field : steps->event().fields) {
      row += " " + steps->columns().name(field.field) + "=";
      if (field.value.type() == ValueType::kFloat64) {
        row += std::to_string(field.value.AsDouble());
      } else {
        row += field.value.is_null() ? "null" : ToText(field.value);
      }
    }
    rows.push_back(row);
  }
  return rows;
}

class Pieces {
 public:
  explicit Pieces(std::vector<std::string> by) {
    spec_.step_us = 1000;
    spec_.aggregations = {Aggregation::kAvg,  Aggregation::kMin,    Aggregation::kMax,
                          Aggregation::kSum,  Aggregation::kCount,  Aggregation::kFirst,
                          Aggregation::kLast, Aggregation::kStddev, Aggregation::kP50,
                          Aggregation::kP99,  Aggregation::kDelta};
    spec_.fields = {"value"};
    spec_.by = std::move(by);
  }

  // The steps of events, cut into so many pieces that follow each other.
  std::vector<std::string> Steps(const std::vector<Event>& events, size_t pieces) {
    std::unique_ptr<Downsampler> all;
    for (size_t piece = 0; piece < pieces; ++piece) {
      FieldTable fields;
      // Names are numbered as each piece meets them.
      if (piece % 2 == 1) fields.Add("another");
      auto steps = std::make_unique<Downsampler>(spec_, &fields);
      const uint32_t host = fields.Add("host");
      const uint32_t value = fields.Add("value");
      const size_t end = events.size() * (piece + 1) / pieces;
      for (size_t i = events.size() * piece / pieces; i < end; ++i) {
        const EventField event[] = {{host, Value::String(events[i].host)},
                                    {value, events[i].value}};
        EXPECT_TRUE(steps->Add(events[i].time, event));
      }
      if (all) {
        EXPECT_TRUE(all->Absorb(*steps));
      } else {
        all = std::move(steps);
      }
    }
    return RowsOf(all.get());
  }

  DownsampleSpec& spec() { return spec_; }

 private:
  DownsampleSpec spec_;
};

Value AnyValue(std::mt19937* random, const std::string& text) {
  const int64_t number = static_cast<int64_t>((*random)() % 2000) - 1000;
  switch ((*random)() % 4) {
    case 0:
      return Value::Decimal(number, 2);
    case 1:
      return Value::String(text);
    case 2:
      return Value::Bool(number > 0);
    default:
      return Value::Int(number);
  }
}

TEST(DownsamplerTest, PiecesPutTogetherAreTheWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 200; ++i) texts.push_back("text" + std::to_string(random() % 50));
    std::vector<Event> events;
    for (const std::string& text : texts) {
      events.push_back({static_cast<TimeUs>(random() % 20'000),
                        std::string(1, static_cast<char>('a' + random() % 5)),
                        AnyValue(&random, text)});
    }
    for (const std::vector<std::string>& by : {std::vector<std::string>(), {"host"}}) {
      Pieces pieces(by);
      const std::vector<std::string> whole = pieces.Steps(events, 1);
      for (const size_t count : {2u, 3u, 7u}) EXPECT_EQ(pieces.Steps(events, count), whole);
    }
  }
}

TEST(DownsamplerTest, NoTwoValuesAreOneGroup) {
  DownsampleSpec spec;
  spec.step_us = 1000;
  spec.aggregations = {Aggregation::kCount};
  spec.fields = {"value"};
  spec.by = {"rack", "host"};
  FieldTable fields;
  Downsampler steps(spec, &fields);
  const uint32_t rack = fields.Add("rack");
  const uint32_t host = fields.Add("host");
  const uint32_t value = fields.Add("value");
  using namespace std::string_view_literals;
  const std::string_view texts[] = {""sv, "\0"sv, "\0\0"sv, "\1"sv, "\1\1"sv, "\2"sv, "a"sv};
  for (const std::string_view text : texts) {
    const EventField event[] = {{rack, Value::String(text)}, {value, Value::Int(1)}};
    EXPECT_TRUE(steps.Add(0, event));
    const EventField other[] = {{host, Value::String(text)}, {value, Value::Int(1)}};
    EXPECT_TRUE(steps.Add(0, other));
  }
  const EventField neither[] = {{value, Value::Int(1)}};
  EXPECT_TRUE(steps.Add(0, neither));
  EXPECT_EQ(RowsOf(&steps).size(), 15u);
}

TEST(DownsamplerTest, PiecesInOrderOfTimeOrAgainstItGrowAsTheWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Event> events;
    TimeUs time = 0;
    for (int i = 0; i < 100; ++i) {
      events.push_back({time += static_cast<TimeUs>(1 + random() % 700),
                        std::string(1, static_cast<char>('a' + random() % 3)),
                        Value::Int(static_cast<int64_t>(random() % 100))});
    }
    for (const std::vector<std::string>& by : {std::vector<std::string>(), {"host"}}) {
      Pieces pieces(by);
      pieces.spec().aggregations = {Aggregation::kIncrease, Aggregation::kRate};
      const std::vector<std::string> whole = pieces.Steps(events, 1);
      for (const size_t count : {2u, 3u, 7u}) EXPECT_EQ(pieces.Steps(events, count), whole);
      const std::vector<Event> reversed(events.rbegin(), events.rend());
      for (const size_t count : {1u, 2u, 7u}) EXPECT_EQ(pieces.Steps(reversed, count), whole);
    }
  }
}

TEST(DownsamplerTest, SaysWhenGrowthCannotBeToldFromTheOrderOfEvents) {
  for (const Aggregation aggregation : {Aggregation::kIncrease, Aggregation::kDelta}) {
    DownsampleSpec spec;
    spec.step_us = 1000;
    spec.aggregations = {aggregation};
    spec.fields = {"value"};
    FieldTable fields;
    Downsampler steps(spec, &fields);
    for (const TimeUs time : {1, 3, 2}) {
      const EventField event[] = {{fields.Add("value"), Value::Int(time)}};
      EXPECT_TRUE(steps.Add(time, event));
    }
    EXPECT_EQ(steps.in_order(), aggregation == Aggregation::kDelta);
  }
}

TEST(DownsamplerTest, OfOneTimeTheLaterPieceHasTheLast) {
  Pieces pieces({});
  const std::vector<Event> events = {{5, "a", Value::Int(1)}, {5, "b", Value::Int(2)}};
  const std::vector<std::string> rows = pieces.Steps(events, 2);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(rows[0].find("value:first=1 value:last=2"), std::string::npos) << rows[0];
}

// Times of a run: regular ones, others that ascend, and any.
std::vector<TimeUs> AnyTimes(std::mt19937* random) {
  const auto sort = (*random)() % 3;
  std::vector<TimeUs> times;
  auto time = static_cast<TimeUs>((*random)() % 20'000);
  const auto most = 1 + (*random)() % 700;
  for (auto count = 1 + (*random)() % 200; count > 0; --count) {
    times.push_back(time);
    if (sort == 0) time += static_cast<TimeUs>(most);
    if (sort == 1) time += static_cast<TimeUs>(1 + (*random)() % (most * most));
    if (sort == 2) time = static_cast<TimeUs>((*random)() % 60'000);
  }
  return times;
}

// Those of a clock that ticks, told as such: forwards mostly, and often as many times a step.
EntryTimes EvenTimes(int64_t step_us, std::mt19937* random) {
  auto step = static_cast<int64_t>((*random)() % 3000) - ((*random)() % 4 == 0 ? 3000 : 0);
  const auto each = static_cast<int64_t>(1 + (*random)() % 20);
  if (step_us % each == 0) step = step_us / each;
  return {static_cast<TimeUs>(400'000 + (*random)() % 10'000), step, 1 + (*random)() % 100};
}

TEST(DownsamplerTest, RunsGiveTheStepsThatTheirEventsGive) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    DownsampleSpec spec;
    spec.step_us = static_cast<int64_t>(1 + random() % 5000) * (random() % 2 == 0 ? 1 : 12);
    spec.aggregations = {Aggregation::kAvg, Aggregation::kMin, Aggregation::kMax, Aggregation::kSum,
                         Aggregation::kCount};
    if (random() % 2 == 0) spec.aggregations.push_back(Aggregation::kLast);
    spec.fields = {"value"};
    if (random() % 2 == 0) spec.by = {"host"};
    FieldTable fields;
    Downsampler by_runs(spec, &fields);
    Downsampler by_events(spec, &fields);
    const uint32_t host = fields.Add("host");
    const uint32_t value = fields.Add("value");
    for (auto runs = 1 + random() % 6; runs > 0; --runs) {
      const std::string name(1, static_cast<char>('a' + random() % 3));
      const std::vector<TimeUs> any = AnyTimes(&random);
      const EntryTimes times =
          random() % 2 == 0 ? EvenTimes(spec.step_us, &random) : EntryTimes(any);
      ColumnData data;
      data.kind = ColumnData::Kind::kDecimal;
      data.scale = 2;
      for (size_t i = 0; i < times.size(); ++i) {
        data.numbers.push_back(static_cast<int64_t>(random() % 10'000));
        const EventField event[] = {{host, Value::String(name)}, {value, data.At(i)}};
        ASSERT_TRUE(by_events.Add(times[i], event));
      }
      const EventField key_fields[] = {{host, Value::String(name)}};
      const bool ascends = random() % 2 == 0 && times.Ascend();
      ASSERT_TRUE(by_runs.AddRun(key_fields, value, {{}, &data, 0, times, ascends}));
    }
    ASSERT_EQ(RowsOf(&by_runs), RowsOf(&by_events)) << "round " << round;
  }
}

}  // namespace
}  // namespace tallyd

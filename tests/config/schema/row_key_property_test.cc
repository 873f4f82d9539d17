// What holds for every template and every event: seeded, so that a failure repeats.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "tests/config/schema/row_key_helper.h"

namespace tallyd {
namespace {

constexpr TimeUnit kUnit = TimeUnit::kMilliseconds;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  template <class Container>
  const auto& Pick(const Container& items) {
    return items[static_cast<size_t>(Between(0, static_cast<int64_t>(std::size(items)) - 1))];
  }
  template <class Container>
  void Shuffle(Container* items) {
    std::shuffle(items->begin(), items->end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

// Bytes that templates and escapes are about, and a few that they are not.
std::string AnyText(Random* random) {
  constexpr std::string_view kBytes = "ab019#%/.- \n\x7f\xc3\xa9_AF2";
  std::string text;
  for (int64_t size = random->Between(1, 6); size > 0; --size) text += random->Pick(kBytes);
  return text;
}

std::string AnyDigits(Random* random) { return std::to_string(random->Between(0, 99'999)); }

struct FieldSpec {
  const char* spec;
  std::string (*value)(Random*);
};

std::string AnyPadded(Random* random) {
  std::string text = AnyText(random);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.empty() ? "x" : text;
}

constexpr FieldSpec kFieldSpecs[] = {
    {"", AnyText},
    {"", AnyDigits},
    {":zero(6)", AnyDigits},
    {":pad(18)", AnyPadded},
    {":reverse_domain", AnyText},
    {":reverse_digits", AnyDigits},
};

constexpr const char* kTimeSpecs[] = {
    "ms",        "s",     "us",       "reverse(ms)", "minute",     "hour",           "day",
    "week",      "month", "year",     "bucket(30m)", "bucket(2d)", "%Y%m%d",         "%d.%m.%Y",
    "%Y-%m-%-d", "%H%M",  "%y%m%d%H", "%G-%V",       "%Y%j%H%M",   "%Y%m%d%H%M%S%L", "%Y"};

constexpr const char* kLiterals[] = {"#", "##", "/", "-", ".", " ", "a", "0x", "#1"};

struct Shape {
  std::string text;
  std::map<std::string, std::string (*)(Random*)> makers;
};

// Up to three fields, up to two times, now and then a salt, in any order.
Shape AnyTemplate(Random* random) {
  Shape shape;
  std::vector<std::string> placeholders;
  for (int i = static_cast<int>(random->Between(0, 3)); i > 0; --i) {
    const FieldSpec& spec = random->Pick(kFieldSpecs);
    const std::string name = std::string(1, static_cast<char>('a' + i));
    placeholders.push_back("{" + name + spec.spec + "}");
    shape.makers[name] = spec.value;
    if (random->OneIn(5)) placeholders.push_back("{" + name + ":salt(3)}");
  }
  for (int i = static_cast<int>(random->Between(shape.makers.empty() ? 1 : 0, 2)); i > 0; --i) {
    placeholders.push_back("{ts:" + std::string(random->Pick(kTimeSpecs)) + "}");
  }
  if (random->OneIn(6)) placeholders.push_back("{ts:salt(12)}");
  random->Shuffle(&placeholders);
  if (random->OneIn(4)) shape.text += "M#";
  for (size_t i = 0; i < placeholders.size(); ++i) {
    // '#' after what ends in digits of varying number, which a digit would continue.
    if (i > 0) shape.text += random->OneIn(3) ? random->Pick(kLiterals) : "#";
    shape.text += placeholders[i];
  }
  return shape;
}

// A template that parses, and its fields.
std::pair<RowKeyTemplate, Shape> AnyRowKey(Random* random) {
  while (true) {
    Shape shape = AnyTemplate(random);
    Result<RowKeyTemplate> row_key = RowKeyTemplate::Parse(shape.text, "ts");
    if (row_key) return {std::move(*row_key), std::move(shape)};
  }
}

struct Event {
  std::map<std::string, std::string> fields;
  TimeUs t = 0;
};

std::string KeyOf(const RowKeyTemplate& row_key, const Event& event) {
  Fields fields;
  for (const auto& [name, text] : event.fields) fields.emplace(name, Value::String(text));
  return Render(row_key, fields, event.t).value();
}

TEST(RowKeyPropertyTest, AKeyReadsBackToExactlyItsFields) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const auto [row_key, shape] = AnyRowKey(&random);
    Event event;
    event.t = random.Between(0, kMaxTimeUs);
    for (const auto& [name, make] : shape.makers) event.fields[name] = make(&random);
    const std::string key = KeyOf(row_key, event);
    std::string scratch;
    std::vector<KeyField> fields;
    const Status status = row_key.ReadBack(key, &scratch, &fields);
    ASSERT_TRUE(status) << shape.text << " " << key << " " << status.error().message();
    for (const KeyField& field : fields) {
      const Segment& segment = row_key.segments()[field.segment];
      if (segment.is_time || segment.is_salt()) {
        ASSERT_TRUE(field.value.is_null());
      } else {
        ASSERT_EQ(ToText(field.value), event.fields[segment.field]) << shape.text << " " << key;
      }
    }
  }
}

TEST(RowKeyPropertyTest, DifferentFieldsMakeDifferentKeysAndPrefixes) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    const std::string literal = random.Pick(kLiterals);
    const RowKeyTemplate row_key = Template("{a}" + literal + "{b}");
    const std::string mine = AnyText(&random);
    const std::string other = random.OneIn(2) ? mine + AnyText(&random) : AnyText(&random);
    if (mine == other) continue;
    std::string prefix;
    ASSERT_TRUE(
        row_key.AppendSegment(row_key.segments()[0], Value::String(mine), 0, kUnit, &prefix));
    const std::string key = KeyOf(row_key, {{{"a", other}, {"b", AnyText(&random)}}, 0});
    ASSERT_FALSE(key.starts_with(prefix + literal)) << key << " has the prefix of " << mine;
  }
}

TEST(RowKeyPropertyTest, ReadingRefusesWhatItWouldNotWrite) {
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    const auto [row_key, shape] = AnyRowKey(&random);
    Event event;
    event.t = random.Between(0, kMaxTimeUs);
    for (const auto& [name, make] : shape.makers) event.fields[name] = make(&random);
    std::string key = KeyOf(row_key, event);
    key[static_cast<size_t>(random.Between(0, static_cast<int64_t>(key.size()) - 1))] =
        static_cast<char>(random.Between(0, 127));
    std::string scratch;
    std::vector<KeyField> fields;
    if (!row_key.ReadBack(key, &scratch, &fields)) continue;
    // What is read writes the same bytes again, times and salts apart.
    std::string_view rest = key;
    for (const KeyField& field : fields) {
      const Segment& segment = row_key.segments()[field.segment];
      if (field.value.is_null()) continue;
      std::string text;
      ASSERT_TRUE(row_key.AppendSegment(segment, field.value, 0, kUnit, &text)) << key;
      const size_t at = rest.find(text);
      ASSERT_NE(at, std::string_view::npos) << shape.text << " " << key << " lacks " << text;
      rest.remove_prefix(at + text.size());
    }
  }
}

TEST(RowKeyPropertyTest, PaddedNumbersAndTimesSortLikeTheirValues) {
  Random random(4);
  for (int round = 0; round < 5000; ++round) {
    const int64_t low = random.Between(0, 99'999);
    const int64_t high = random.Between(low, 99'999);
    EXPECT_LE(Key("{n:zero(5)}", {{"n", Value::Int(low)}}),
              Key("{n:zero(5)}", {{"n", Value::Int(high)}}));

    const Spec spec = ParseSpec(random.Pick(kTimeSpecs)).value();
    const TimeUs from = random.Between(0, kMaxTimeUs);
    const TimeUs to =
        std::min(kMaxTimeUs, from + random.Between(0, int64_t{1} << random.Between(0, 50)));
    std::string first, second;
    AppendTimeSpec(spec, from, &first);
    AppendTimeSpec(spec, to, &second);
    if (spec.kind == SpecKind::kReverseMs) std::swap(first, second);
    if (spec.sorts_by_time) {
      EXPECT_LE(first, second) << spec.format << " " << from << " " << to;
    }
    const TimeRange period = PeriodOf(spec, from);
    EXPECT_TRUE(period.Contains(from));
    if (spec.bounds_time && !spec.format.starts_with("%y")) {
      EXPECT_EQ(first == second, period.Contains(to)) << spec.format << " " << from << " " << to;
    }
  }
}

// ---- Plans ----

struct Query {
  KnownFields known;
  bool Matches(const Event& event) const {
    return known.time.Contains(event.t) &&
           std::ranges::all_of(known.values, [&event](const auto& wanted) {
             const auto found = event.fields.find(wanted.first);
             return found != event.fields.end() &&
                    std::ranges::count(wanted.second, found->second) > 0;
           });
  }
};

Query AnyQuery(const Shape& shape, const std::vector<Event>& events, Random* random) {
  Query query;
  for (const auto& [name, make] : shape.makers) {
    if (random->OneIn(3)) continue;
    for (int64_t n = random->Between(1, 2); n > 0; --n) {
      query.known.values[name].push_back(random->Pick(events).fields.at(name));
    }
  }
  if (random->OneIn(3)) return query;
  const TimeUs center = random->Pick(events).t;
  if (!random->OneIn(4)) query.known.time.from = center - random->Between(0, 3 * kUsPerDay);
  if (!random->OneIn(4)) query.known.time.to = center + random->Between(0, 3 * kUsPerDay);
  return query;
}

bool Holds(const KeyRange& range, const std::string& key) {
  return range.start <= key && (range.end.empty() || key < range.end);
}

void CheckRanges(const RowKeyTemplate& row_key, const Query& query,
                 const std::vector<Event>& events, const KeyRanges& keys) {
  for (size_t i = 1; i < keys.ranges.size(); ++i) {
    ASSERT_FALSE(keys.ranges[i - 1].end.empty());
    ASSERT_LE(keys.ranges[i - 1].end, keys.ranges[i].start);
  }
  std::vector<std::vector<std::pair<std::string, TimeUs>>> found(keys.ranges.size());
  for (const Event& event : events) {
    const std::string key = KeyOf(row_key, event);
    const auto range = std::ranges::find_if(
        keys.ranges, [&key](const KeyRange& candidate) { return Holds(candidate, key); });
    if (range == keys.ranges.end()) {
      ASSERT_FALSE(query.Matches(event)) << row_key.text() << " misses " << key;
      continue;
    }
    found[static_cast<size_t>(range - keys.ranges.begin())].emplace_back(key, event.t);
  }
  if (!keys.time_ordered) return;
  for (auto& rows : found) {
    std::ranges::sort(rows);
    for (size_t i = 1; i < rows.size(); ++i) {
      // Of two events in one row neither comes first.
      if (rows[i - 1].first == rows[i].first) continue;
      const TimeUs earlier = keys.time_descends ? rows[i].second : rows[i - 1].second;
      const TimeUs later = keys.time_descends ? rows[i - 1].second : rows[i].second;
      ASSERT_LT(earlier, later) << row_key.text() << " " << rows[i - 1].first;
    }
  }
}

TEST(KeyRangesPropertyTest, APlanHoldsEveryMatchingEventInOrder) {
  Random random(5);
  for (int round = 0; round < 3000; ++round) {
    const auto [row_key, shape] = AnyRowKey(&random);
    const TimeUs start = random.Between(0, kMaxTimeUs - 40 * kUsPerDay);
    std::map<std::string, std::vector<std::string>> pool;
    for (const auto& [name, make] : shape.makers) {
      for (int i = 0; i < 3; ++i) pool[name].push_back(make(&random));
    }
    std::vector<Event> events(30);
    for (Event& event : events) {
      event.t = start + random.Between(0, random.OneIn(2) ? 4 * kUsPerDay : 40 * kUsPerDay);
      for (const auto& [name, values] : pool) event.fields[name] = random.Pick(values);
    }
    const Query query = AnyQuery(shape, events, &random);
    const Result<KeyRanges> keys = FindKeyRanges(row_key, query.known, kUnit);
    if (!keys) {
      ASSERT_EQ(keys.error().code(), ErrorCode::kUnprocessable);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(CheckRanges(row_key, query, events, *keys));
  }
}

}  // namespace
}  // namespace tallyd

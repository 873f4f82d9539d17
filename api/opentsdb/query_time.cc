#include "api/opentsdb/query_time.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr int64_t kMostSeconds = 0xffff'ffff;  // Greater numbers are milliseconds.

std::string Quoted(std::string_view text) { return "'" + std::string(text.substr(0, 100)) + "'"; }

struct Interval {
  int64_t count = 0;
  std::string_view unit;
};

std::optional<Interval> SplitInterval(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<int64_t> count = ParseDigits(text.substr(0, digits));
  if (!count) return std::nullopt;
  return Interval{*count, text.substr(digits)};
}

int64_t LengthOf(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 8> kUnits = {{
      {"ms", kUsPerMs},
      {"s", kUsPerSecond},
      {"m", 60 * kUsPerSecond},
      {"h", 3600 * kUsPerSecond},
      {"d", kUsPerDay},
      {"w", 7 * kUsPerDay},
      {"n", 30 * kUsPerDay},
      {"y", 365 * kUsPerDay},
  }};
  const auto found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, int64_t>::first);
  return found == kUnits.end() ? 0 : found->second;
}

Error NotADuration(std::string_view text) {
  return Invalid("Invalid duration: " + Quoted(text) +
                 " is no number of ms, s, m, h, d, w, n or y, as 30s is");
}

Error NotATimeHere(std::string_view text) {
  return Invalid("Invalid date: " + Quoted(text) +
                 " is none of seconds, milliseconds, 1h-ago, now, yyyy/MM/dd-HH:mm:ss");
}

// "2013/01/01-00:00:00", with a space for the dash, without seconds, or the date alone.
Result<TimeUs> ParseSlashedDate(std::string_view text) {
  std::array<int64_t, 6> parts = {0, 1, 1, 0, 0, 0};
  constexpr std::string_view kBehind = "//- ::";  // Of '-' and ' ' either.
  size_t count = 0;
  while (count < parts.size()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::optional<int64_t> part = ParseDigits(text.substr(0, std::min<size_t>(digits, 4)));
    if (!part || digits > 4) return NotATimeHere(text);
    parts[count++] = *part;
    text.remove_prefix(digits);
    if (text.empty()) break;
    const bool is_due = count <= 2   ? text[0] == kBehind[0]
                        : count == 3 ? text[0] == kBehind[2] || text[0] == kBehind[3]
                                     : text[0] == kBehind[4];
    if (!is_due || count == parts.size()) return NotATimeHere(text);
    text.remove_prefix(1);
    if (text.empty()) return NotATimeHere(text);
  }
  const auto& [year, month, day, hour, minute, second] = parts;
  const bool is_whole = count == 3 || count >= 5;
  const bool fits = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
                    hour <= 23 && minute <= 59 && second <= 59;
  if (!is_whole || !fits) return Invalid("Invalid date: there is no such time");
  const int64_t days =
      DaysFromCivil(static_cast<int>(year), static_cast<int>(month), static_cast<int>(day));
  const TimeUs time = days * kUsPerDay + ((hour * 60 + minute) * 60 + second) * kUsPerSecond;
  if (ToCivil(time).day != day) return Invalid("Invalid date: the month has no such day");
  return std::min(time, kMaxTimeUs);
}

// "1364410924", "1364410924250", "1364410924.250".
Result<TimeUs> ParseNumberOfTime(std::string_view text) {
  const size_t point = text.find('.');
  const std::optional<int64_t> whole = ParseDigits(text.substr(0, point));
  if (!whole) return NotATimeHere(text);
  if (point == text.npos) {
    const int64_t unit = *whole <= kMostSeconds ? kUsPerSecond : kUsPerMs;
    return *whole > kMaxTimeUs / unit ? kMaxTimeUs : *whole * unit;
  }
  const std::string_view decimals = text.substr(point + 1);
  const std::optional<int64_t> part = ParseDigits(decimals);
  if (!part || decimals.size() > 6 || *whole > kMostSeconds) return NotATimeHere(text);
  int64_t micros = *part;
  for (size_t i = decimals.size(); i < 6; ++i) micros *= 10;
  return *whole * kUsPerSecond + micros;
}

Result<StepFill> ParseFillPolicy(std::string_view text) {
  constexpr std::string_view kScalar = "scalar#";
  if (text == "none") return StepFill{};
  if (text == "nan" || text == "null") return StepFill{true, Value()};
  if (text == "zero") return StepFill{true, Value::Int(0)};
  if (text.starts_with(kScalar)) {
    if (const auto number = ParseNumber(text.substr(kScalar.size()))) {
      return StepFill{true, *number};
    }
  }
  return Invalid("Unrecognized fill policy: " + Quoted(text) +
                 " is none of none, nan, null, zero, scalar#NUMBER");
}

// Nothing: the unit is none.
std::optional<SeriesSteps> CalendarSteps(const Interval& interval) {
  constexpr int64_t kMostCount = 100'000;
  if (interval.count > kMostCount) return std::nullopt;
  if (interval.unit == "w") return SeriesSteps::OfWeeks(interval.count);
  if (interval.unit == "n") return SeriesSteps::OfMonths(interval.count);
  if (interval.unit == "y") return SeriesSteps::OfMonths(12 * interval.count);
  const int64_t unit = LengthOf(interval.unit);
  if (unit == 0) return std::nullopt;
  return SeriesSteps::Of(interval.count * unit);
}

Result<SeriesSteps> ParseSteps(std::string_view text, TimeUs start, bool* calendar) {
  if (text == "0all") return SeriesSteps::OfAll(start);
  if (text.ends_with('c')) {
    *calendar = true;
    text.remove_suffix(1);
  }
  if (!*calendar) {
    const Result<int64_t> width = ParseOpentsdbDuration(text);
    if (!width) return width.error();
    return SeriesSteps::Of(*width);
  }
  const std::optional<Interval> interval = SplitInterval(text);
  if (!interval || interval->count == 0) return NotADuration(text);
  const std::optional<SeriesSteps> steps = CalendarSteps(*interval);
  if (!steps) return NotADuration(text);
  return *steps;
}

}  // namespace

Result<int64_t> ParseOpentsdbDuration(std::string_view text) {
  const std::optional<Interval> interval = SplitInterval(text);
  const int64_t unit = interval ? LengthOf(interval->unit) : 0;
  if (unit == 0 || interval->count == 0) return NotADuration(text);
  return std::min(interval->count, kMaxTimeUs / unit) * unit;
}

Result<TimeUs> ParseOpentsdbTime(std::string_view text, TimeUs now) {
  constexpr std::string_view kAgo = "-ago";
  if (text == "now") return now;
  if (text.ends_with(kAgo)) {
    const Result<int64_t> ago = ParseOpentsdbDuration(text.substr(0, text.size() - kAgo.size()));
    if (!ago) return ago.error();
    return std::max<TimeUs>(now - *ago, 0);
  }
  return text.find('/') == text.npos ? ParseNumberOfTime(text) : ParseSlashedDate(text);
}

Result<OpentsdbDownsample> ParseOpentsdbDownsample(std::string_view text, TimeUs start,
                                                   bool calendar) {
  const size_t dash = text.find('-');
  if (dash == text.npos) {
    return Invalid("Invalid downsampling specifier: " + Quoted(text) +
                   " is not INTERVAL-AGGREGATOR, as 1m-avg is");
  }
  OpentsdbDownsample parsed;
  parsed.uses_calendar = calendar;
  const Result<SeriesSteps> steps = ParseSteps(text.substr(0, dash), start, &parsed.uses_calendar);
  if (!steps) return steps.error();
  parsed.downsample.steps = *steps;
  const std::string_view rest = text.substr(dash + 1);
  const size_t second = rest.find('-');
  const Result<SeriesAggregation> aggregation = ParseSeriesAggregation(rest.substr(0, second));
  if (!aggregation) return aggregation.error();
  if (*aggregation == SeriesAggregation::kNone) {
    return Invalid("cannot use the NONE aggregator for downsampling");
  }
  parsed.downsample.aggregation = *aggregation;
  if (second == rest.npos) return parsed;
  const std::string_view policy = rest.substr(second + 1);
  const Result<StepFill> fill = ParseFillPolicy(policy);
  if (!fill) return fill.error();
  parsed.downsample.fill = *fill;
  parsed.blank_is_null = policy == "null";
  return parsed;
}

}  // namespace tallyd

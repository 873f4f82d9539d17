#include "config/values/time.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr int kFractionDigits = 6;  // Of a second, or of a number of seconds: microseconds.

int64_t MicrosecondsIn(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return kUsPerSecond;
    case TimeUnit::kMilliseconds:
      return kUsPerMs;
    case TimeUnit::kMicroseconds:
    case TimeUnit::kNanoseconds:
      return 1;
  }
  return 1;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 64;
  std::string quoted = "\"";
  quoted.append(text.substr(0, kShown)).append(text.size() > kShown ? "...\"" : "\"");
  return quoted;
}

// Of years that somebody may measure.
constexpr TimeRange kUsualTimes = {100'000'000 * kUsPerSecond, kMaxTimeUs + 1};

Error OutOfRange(std::string_view found, std::string_view hint = {}) {
  return Invalid("the time " + std::string(found) +
                 " is outside 1970-01-01T00:00:00Z to 2286-11-20T17:46:39.999Z" +
                 std::string(hint));
}

// ---- Numbers ----

// A plain decimal ("-12.34") in `unit`, truncated to a microsecond; saturates beyond kMaxTimeUs.
// Empty when it is no such decimal. Digits, not doubles: 1426535612045.123 ms is ...045123 us, and
// no product of doubles says so.
std::optional<int64_t> DecimalToUs(std::string_view text, TimeUnit unit) {
  constexpr uint64_t kCap = 18'000'000'000'000'000'000u;  // Beyond kMaxTimeUs in nanoseconds.
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const bool nonzero = text.find_first_not_of("0.") != text.npos;
  uint64_t whole = 0;
  size_t i = 0;
  for (; i < text.size() && IsDigit(text[i]); ++i) {
    whole = whole > kCap / 10 ? kCap : whole * 10 + static_cast<uint64_t>(text[i] - '0');
  }
  int64_t step = MicrosecondsIn(unit);
  if (unit == TimeUnit::kNanoseconds) whole /= 1000;
  const auto limit = static_cast<uint64_t>(kMaxTimeUs / step + 1);
  int64_t us = static_cast<int64_t>(std::min(whole, limit)) * step;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && IsDigit(text[i]); ++i) {
      step /= 10;
      us += (text[i] - '0') * step;
    }
  }
  if (i != text.size()) return std::nullopt;
  // The least bit before 1970 stays before 1970.
  return negative && nonzero ? -std::max<int64_t>(us, 1) : us;
}

// The number that `text` spells as JSON does, without its exponent: "12.5e1" -> "125". Empty where
// the exponent is beyond all times, and all that a double has.
std::string WithoutExponent(std::string_view text) {
  constexpr int kMostShifted = 400;
  const size_t e = text.find_first_of("eE");
  std::string plain(text.substr(0, e));
  if (e == text.npos) return plain;
  std::string_view digits = text.substr(e + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int shift = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, ec] = std::from_chars(digits.data(), end, shift);
  if (ec != std::errc() || rest != end || std::abs(shift) > kMostShifted) return {};
  const size_t sign = plain.starts_with('-') ? 1 : 0;
  size_t point = std::min(plain.find('.'), plain.size());
  if (point < plain.size()) plain.erase(point, 1);
  if (shift < 0) {
    const auto before = static_cast<size_t>(-shift);
    plain.insert(sign, before, '0');  // The point moves among them, and there it stays.
    plain.insert(point, 1, '.');
    return plain;
  }
  point += static_cast<size_t>(shift);
  if (point > plain.size()) plain.append(point - plain.size(), '0');
  return plain.insert(point, 1, '.');
}

// By its digits where its text is known. A double has fewer than a time may have, and rounds them.
std::optional<int64_t> NumberToUs(const Value& value, TimeUnit unit, std::string_view text = {}) {
  if (value.type() == ValueType::kFloat64 && !text.empty()) {
    const std::string plain = WithoutExponent(text);
    const std::optional<int64_t> us =
        plain.empty() ? std::optional<int64_t>() : DecimalToUs(plain, unit);
    if (us) return us;
  }
  std::array<char, 400> buffer;  // The longest double in fixed notation has 310 digits.
  char* end = nullptr;
  if (value.type() == ValueType::kInt64) {
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.AsInt()).ptr;
  } else {
    const double v = value.AsDouble();
    if (!std::isfinite(v)) return std::nullopt;
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, std::chars_format::fixed)
              .ptr;
  }
  return DecimalToUs({buffer.data(), static_cast<size_t>(end - buffer.data())}, unit);
}

bool MayBeSeconds(const Value& number) {
  constexpr int64_t kMost = 99'999'999'999;
  return number.type() == ValueType::kInt64 && number.AsInt() >= 1 && number.AsInt() <= kMost;
}

// A number of a query, which counts milliseconds.
Result<TimeUs> NumberOfQuery(const Value& number, std::string_view text) {
  const std::string shown(text);
  if (text[0] == '-') {
    return Invalid(shown + " has no unit; a time before now is written " + shown + "s, " + shown +
                   "m, " + shown + "h or " + shown + "d");
  }
  if (MayBeSeconds(number)) {
    return Invalid(shown +
                   " would be a time of the early 1970s in milliseconds; if seconds are meant, it "
                   "is " +
                   shown + "000, and if not, write it as RFC 3339");
  }
  const std::optional<int64_t> us = NumberToUs(number, TimeUnit::kMilliseconds, text);
  constexpr double kEnd = static_cast<double>(kMaxTimeUs + 1) / kUsPerMs;
  const bool is_end = number.type() == ValueType::kFloat64 && number.AsDouble() == kEnd;
  if (us && (*us <= kMaxTimeUs || (*us == kMaxTimeUs + 1 && is_end))) return *us;
  return OutOfRange(shown + " ms", UnitHint(number, TimeUnit::kMilliseconds, kUsualTimes));
}

Result<TimeUs> InRange(int64_t us, std::string_view found) {
  if (us < 0 || us > kMaxTimeUs) return OutOfRange(found);
  return us;
}

// ---- RFC 3339 ----

// Consumes exactly `count` digits.
bool TakeDigits(std::string_view* text, size_t count, int* number) {
  if (text->size() < count) return false;
  *number = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!IsDigit((*text)[i])) return false;
    *number = *number * 10 + ((*text)[i] - '0');
  }
  text->remove_prefix(count);
  return true;
}

bool TakeAny(std::string_view* text, std::string_view accepted) {
  if (text->empty() || accepted.find(text->front()) == accepted.npos) return false;
  text->remove_prefix(1);
  return true;
}

// Digits of a fraction as microseconds; what is finer is cut off.
bool TakeFraction(std::string_view* text, int* microsecond) {
  size_t digits = 0;
  *microsecond = 0;
  for (; digits < text->size() && IsDigit((*text)[digits]); ++digits) {
    if (digits < kFractionDigits) *microsecond = *microsecond * 10 + ((*text)[digits] - '0');
  }
  for (size_t i = digits; i < kFractionDigits; ++i) *microsecond *= 10;
  text->remove_prefix(digits);
  return digits > 0;
}

bool TakeZone(std::string_view* text, int* offset_minutes) {
  *offset_minutes = 0;
  if (TakeAny(text, "Zz")) return true;
  const bool negative = !text->empty() && text->front() == '-';
  int hours = 0;
  int minutes = 0;
  if (!TakeAny(text, "+-") || !TakeDigits(text, 2, &hours) || !TakeAny(text, ":") ||
      !TakeDigits(text, 2, &minutes) || hours > 23 || minutes > 59) {
    return false;
  }
  *offset_minutes = (hours * 60 + minutes) * (negative ? -1 : 1);
  return true;
}

int DaysInMonth(int year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

// Any time of the years 0000 to 9999, also outside what tallyd stores. Empty: no RFC 3339.
std::optional<int64_t> ScanRfc3339(std::string_view text) {
  CivilTime t = {};
  int offset_minutes = 0;
  if (!TakeDigits(&text, 4, &t.year) || !TakeAny(&text, "-") || !TakeDigits(&text, 2, &t.month) ||
      !TakeAny(&text, "-") || !TakeDigits(&text, 2, &t.day) || !TakeAny(&text, "Tt ") ||
      !TakeDigits(&text, 2, &t.hour) || !TakeAny(&text, ":") || !TakeDigits(&text, 2, &t.minute) ||
      !TakeAny(&text, ":") || !TakeDigits(&text, 2, &t.second)) {
    return std::nullopt;
  }
  if (TakeAny(&text, ".") && !TakeFraction(&text, &t.microsecond)) return std::nullopt;
  if (!TakeZone(&text, &offset_minutes) || !text.empty()) return std::nullopt;
  // Second 60 is a leap second; as in POSIX time it is the first of the next minute.
  if (t.month < 1 || t.month > 12 || t.day < 1 || t.day > DaysInMonth(t.year, t.month) ||
      t.hour > 23 || t.minute > 59 || t.second > 60) {
    return std::nullopt;
  }
  const int64_t minutes = (t.hour * 60 + t.minute) - offset_minutes;
  return DaysFromCivil(t.year, t.month, t.day) * kUsPerDay +
         (minutes * 60 + t.second) * kUsPerSecond + t.microsecond;
}

// ---- Durations ----

struct DurationUnit {
  std::string_view name;
  int64_t us;
};
// Largest first.
constexpr std::array<DurationUnit, 7> kDurationUnits = {{{"w", 7 * kUsPerDay},
                                                         {"d", kUsPerDay},
                                                         {"h", 3600 * kUsPerSecond},
                                                         {"m", 60 * kUsPerSecond},
                                                         {"s", kUsPerSecond},
                                                         {"ms", kUsPerMs},
                                                         {"us", 1}}};

void AppendPadded(int64_t v, size_t width, std::string* out) {
  if (v < 0) out->push_back('-');
  const uint64_t magnitude = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  AppendDigits(magnitude, std::max(width, CountDigits(magnitude)), out);
}

// With as many decimals as it needs.
template <uint64_t kMicroseconds>
char* WriteInUnits(uint64_t us, char* to) {
  const uint64_t whole = us / kMicroseconds;
  const size_t digits = CountDigits(whole);
  WriteLastDigits(digits, whole, to + digits);
  to += digits;
  uint64_t rest = us % kMicroseconds;
  if (rest == 0) return to;
  size_t decimals = CountDigits(kMicroseconds) - 1;
  for (; rest % 10 == 0; rest /= 10) --decimals;
  *to++ = '.';
  WriteLastDigits(decimals, rest, to + decimals);
  return to + decimals;
}

}  // namespace

std::string_view ToString(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return "s";
    case TimeUnit::kMilliseconds:
      return "ms";
    case TimeUnit::kMicroseconds:
      return "us";
    case TimeUnit::kNanoseconds:
      return "ns";
  }
  return "unknown";
}

std::string_view Spelled(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return "seconds";
    case TimeUnit::kMilliseconds:
      return "milliseconds";
    case TimeUnit::kMicroseconds:
      return "microseconds";
    case TimeUnit::kNanoseconds:
      return "nanoseconds";
  }
  return "unknown";
}

std::string UnitHint(const Value& value, TimeUnit unit, const TimeRange& plausible) {
  if (!value.is_number()) return {};
  for (const TimeUnit other : {TimeUnit::kSeconds, TimeUnit::kMilliseconds,
                               TimeUnit::kMicroseconds, TimeUnit::kNanoseconds}) {
    const std::optional<int64_t> us = NumberToUs(value, other);
    if (other == unit || !us || *us > kMaxTimeUs || !plausible.Contains(*us)) continue;
    return "; if " + std::string(Spelled(other)) + " are meant, it is " + FormatRfc3339(*us);
  }
  return {};
}

std::string NotATime(std::string_view found, std::optional<TimeUnit> unit) {
  return "found " + std::string(found) + " where a time is due; accepted: a number" +
         (unit ? " of " + std::string(ToString(*unit)) : "") +
         " since 1970, or an RFC 3339 string with a zone (\"2021-03-05T12:00:00Z\")";
}

Result<TimeUs> ParseEventTime(const Value& value, TimeUnit unit, std::string_view text) {
  if (value.type() == ValueType::kInt64) {
    // The hot path: no text in between.
    const int64_t v = value.AsInt();
    const int64_t factor = MicrosecondsIn(unit);
    if (v >= 0 && v <= kMaxTimeUs / factor) {
      return unit == TimeUnit::kNanoseconds ? v / 1000 : v * factor;
    }
  }
  if (value.is_number()) {
    const std::optional<int64_t> us = NumberToUs(value, unit, text);
    if (us && *us >= 0 && *us <= kMaxTimeUs) return *us;
    if (us) {
      return OutOfRange(ToText(value) + " " + std::string(ToString(unit)),
                        UnitHint(value, unit, kUsualTimes));
    }
  }
  if (value.type() == ValueType::kString) {
    const std::optional<int64_t> us = ScanRfc3339(value.AsView());
    if (us) return InRange(*us, Quoted(value.AsView()));
  }
  const std::string found = value.type() == ValueType::kString
                                ? Quoted(value.AsView())
                                : "a " + std::string(ToString(value.type()));
  return Invalid(NotATime(found, unit));
}

Result<TimeUs> ParseRfc3339(std::string_view text) {
  const std::optional<int64_t> us = ScanRfc3339(text);
  if (!us) {
    return Invalid(Quoted(text) +
                   " is no RFC 3339 time with a zone; accepted: \"2021-03-05T12:00:00Z\" or "
                   "\"2021-03-05T13:00:00.5+01:00\"");
  }
  return InRange(*us, Quoted(text));
}

Result<TimeUs> ParseQueryTime(std::string_view text, TimeUs now) {
  const auto clamped = [](int64_t us) { return std::clamp<int64_t>(us, 0, kMaxTimeUs + 1); };
  if (text == "now") return clamped(now);
  if (const std::optional<Value> number = ParseNumber(text)) return NumberOfQuery(*number, text);
  if (!text.empty() && text[0] == '-') {
    const Result<int64_t> ago = ParseDuration(text.substr(1));
    if (ago) return clamped(now - *ago);
  }
  if (const std::optional<int64_t> us = ScanRfc3339(text)) return clamped(*us);
  return Invalid(Quoted(text) +
                 " is no time; accepted: milliseconds since 1970 (1426535612045), RFC 3339 "
                 "(\"2015-03-16T19:53:32Z\"), \"now\", or a time before now (\"-15m\", \"-1d\")" +
                 (text.find(' ') == text.npos ? "" : "; in a URL a plus is written %2B"));
}

Result<int64_t> ParseDuration(std::string_view text) {
  int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, count);
  const std::string_view name(rest, static_cast<size_t>(end - rest));
  const auto unit = std::find_if(kDurationUnits.begin(), kDurationUnits.end(),
                                 [name](const DurationUnit& u) { return u.name == name; });
  const bool has_digits = rest != text.data() && IsDigit(text[0]);
  if (!has_digits || unit == kDurationUnits.end() || (ec == std::errc() && count == 0)) {
    return Invalid(Quoted(text) +
                   " is no duration; accepted: a positive integer and a unit, of us, ms, s, m, h, "
                   "d, w (\"500ms\", \"30m\", \"7d\")");
  }
  if (ec != std::errc() || count > kMaxTimeUs / unit->us) {
    return Invalid(Quoted(text) + " is too long; accepted: durations up to 300 years");
  }
  return count * unit->us;
}

std::string FormatDuration(int64_t us) {
  if (us == 0) return "0s";
  const auto unit = std::find_if(kDurationUnits.begin(), kDurationUnits.end(),
                                 [us](const DurationUnit& u) { return us % u.us == 0; });
  return std::to_string(us / unit->us).append(unit->name);
}

void AppendTime(TimeUs t, TimeUnit unit, std::string* out) {
  std::array<char, kMaxTimeText> text;
  out->append(text.data(), WriteTime(t, unit, text.data()));
}

char* WriteTime(TimeUs t, TimeUnit unit, char* to) {
  if (t < 0) *to++ = '-';
  const uint64_t magnitude = t < 0 ? 0 - static_cast<uint64_t>(t) : static_cast<uint64_t>(t);
  switch (unit) {
    case TimeUnit::kSeconds:
      return WriteInUnits<kUsPerSecond>(magnitude, to);
    case TimeUnit::kMilliseconds:
      return WriteInUnits<kUsPerMs>(magnitude, to);
    case TimeUnit::kMicroseconds:
      return WriteInUnits<1>(magnitude, to);
    case TimeUnit::kNanoseconds:
      break;
  }
  to = WriteInUnits<1>(magnitude, to);
  return t == 0 ? to : std::fill_n(to, 3, '0');
}

std::string FormatRfc3339(TimeUs t) {
  const CivilTime civil = ToCivil(t);
  std::string text;
  AppendPadded(civil.year, 4, &text);
  const std::array<std::pair<char, int>, 5> parts = {{{'-', civil.month},
                                                      {'-', civil.day},
                                                      {'T', civil.hour},
                                                      {':', civil.minute},
                                                      {':', civil.second}}};
  for (const auto& [separator, number] : parts) {
    text.push_back(separator);
    AppendPadded(number, 2, &text);
  }
  if (civil.microsecond != 0) {
    text.push_back('.');
    const bool whole_ms = civil.microsecond % 1000 == 0;
    AppendPadded(whole_ms ? civil.microsecond / 1000 : civil.microsecond, whole_ms ? 3 : 6, &text);
  }
  text.push_back('Z');
  return text;
}

int64_t Clock::SteadyUs() const {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_start).count();
}

// Of a clock that is wrong, too: nanoseconds would end in 2262.
TimeUs SystemClock::Now() const {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * kUsPerSecond + now.tv_nsec / 1000;
}

}  // namespace tallyd

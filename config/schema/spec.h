// What stands after the colon in {field:spec} (docs/configuration.md): parsed once, then rendered
// for every event and read back from every key.
//
//   Result<Spec> spec = ParseSpec("%Y%m%d");
//   AppendTimeSpec(*spec, t, &key);             // "20170726"
//   ParseTimeSpec(*spec, "20170726");           // [midnight, next midnight)
//
// The row of kSpecKinds says what specs of a kind are like. Only those who write and read the text
// itself (spec.cc, time_spec.cc, placeholder.cc) ask which kind it is; others ask for the property
// that they need.
//
// All of it is pure and thread-safe. Times are UTC.
#ifndef TALLYD_CONFIG_SCHEMA_SPEC_H_
#define TALLYD_CONFIG_SCHEMA_SPEC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

enum class SpecKind : uint8_t {
  kText,  // (none)
  kZero,  // zero(n)
  kPad,   // pad(n)
  kMs,
  kSeconds,
  kMicroseconds,  // 13, 10, 16 digits
  kReverseMs,     // 9223372036854775807 - ms, 19 digits
  kBucket,        // bucket(30m): start of the bucket in ms, 13 digits
  kStrftime,      // %..., and the named calendar buckets, which are short for one
  kReverseDomain,
  kReverseDigits,
  kSalt,  // salt(n)
};

// What the text of a placeholder gives back of an event.
enum class GivesBack : uint8_t {
  kNothing,      // It is computed from the value, and many values give the same.
  kPeriod,       // Of a time the period that holds it.
  kValueOfKeys,  // The value, where it stands in a row key. The text of a column is not read.
  kValue,
};

enum class Padding : uint8_t { kNone, kZerosBefore, kSpacesBehind };

struct SpecKindInfo {
  SpecKind kind;
  GivesBack gives_back = GivesBack::kValue;
  bool is_as_is = false;             // The text is the value's own, and a prefix of it one, too.
  Padding padding = Padding::kNone;  // To n bytes.
  // One of n numbers, which only the value tells: who does not know that reads all n.
  bool is_salt = false;
  bool scatters = false;       // Values that follow each other do not stand side by side.
  bool joins_domains = false;  // The hosts of one domain do.
  // What follows is of times.
  bool is_calendar = false;  // Written by `format`; other times are digits.
  bool descends = false;     // The later the time, the smaller the text.
  uint8_t digits = 0;        // Of no calendar: how many there are,
  uint32_t digit_us = 0;     // and the microseconds that the last one counts.
};

// A place for each value of the enum.
inline constexpr std::array kSpecKinds = {
    SpecKindInfo{.kind = SpecKind::kText, .is_as_is = true},
    SpecKindInfo{.kind = SpecKind::kZero, .padding = Padding::kZerosBefore},
    SpecKindInfo{.kind = SpecKind::kPad, .padding = Padding::kSpacesBehind},
    SpecKindInfo{.kind = SpecKind::kMs,
                 .gives_back = GivesBack::kPeriod,
                 .digits = 13,
                 .digit_us = kUsPerMs},
    SpecKindInfo{.kind = SpecKind::kSeconds,
                 .gives_back = GivesBack::kPeriod,
                 .digits = 10,
                 .digit_us = kUsPerSecond},
    SpecKindInfo{.kind = SpecKind::kMicroseconds,
                 .gives_back = GivesBack::kPeriod,
                 .digits = 16,
                 .digit_us = 1},
    SpecKindInfo{.kind = SpecKind::kReverseMs,
                 .gives_back = GivesBack::kPeriod,
                 .descends = true,
                 .digits = 19,
                 .digit_us = kUsPerMs},
    SpecKindInfo{.kind = SpecKind::kBucket,
                 .gives_back = GivesBack::kPeriod,
                 .digits = 13,
                 .digit_us = kUsPerMs},
    SpecKindInfo{
        .kind = SpecKind::kStrftime, .gives_back = GivesBack::kPeriod, .is_calendar = true},
    SpecKindInfo{.kind = SpecKind::kReverseDomain,
                 .gives_back = GivesBack::kValueOfKeys,
                 .joins_domains = true},
    SpecKindInfo{
        .kind = SpecKind::kReverseDigits, .gives_back = GivesBack::kValueOfKeys, .scatters = true},
    SpecKindInfo{.kind = SpecKind::kSalt,
                 .gives_back = GivesBack::kNothing,
                 .is_salt = true,
                 .scatters = true},
};

constexpr bool EachSpecKindIsAtItsPlace() {
  for (size_t i = 0; i < kSpecKinds.size(); ++i) {
    if (static_cast<size_t>(kSpecKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(EachSpecKindIsAtItsPlace());

constexpr const SpecKindInfo& InfoOf(SpecKind kind) {
  return kSpecKinds[static_cast<size_t>(kind)];
}

// The greatest n of zero(n) and pad(n), and of salt(n): a read fans out over that many ranges.
inline constexpr uint32_t kMaxWidth = 1024;
inline constexpr uint32_t kMaxSalts = 10'000;

// One spec, parsed. `n` is the width of zero and pad, the modulus of salt; `bucket_us` the length
// of a fixed bucket, and 0 where there is none.
struct Spec {
  SpecKind kind = SpecKind::kText;
  uint32_t n = 0;
  int64_t bucket_us = 0;
  std::string format;  // Of calendars.
  // What follows is of time specs.
  bool is_time() const { return info().gives_back == GivesBack::kPeriod; }
  bool sorts_by_time = false;  // Rendered text ascends (or `descends`) with time.
  bool bounds_time = false;    // Names the whole period: false for "%H%M", which recurs every day.
  const SpecKindInfo& info() const { return InfoOf(kind); }
  friend bool operator==(const Spec&, const Spec&) = default;
};

// Parses what stands after the colon in {field:spec}. Empty text: kText. Errors name the spec and
// list what is accepted; kUnprocessable: a time that is well formed, but names no fixed periods;
// kTooLarge: a width beyond kMaxWidth.
Result<Spec> ParseSpec(std::string_view text);

// A time spec appends the text of the period that holds `t`, and tells that period [start, end).
// Strings that recur (bounds_time false) tell the smallest unit around `t`.
void AppendTimeSpec(const Spec& spec, TimeUs t, std::string* out);
// The same to where there are FixedWidth bytes. REQUIRES: no calendar.
void WriteTimeDigits(const Spec& spec, TimeUs t, char* to);
TimeRange PeriodOf(const Spec& spec, TimeUs t);
// What the text tells of time, as units of a calendar (CalendarUnit); of buckets nothing.
uint32_t TimeUnitsOf(const Spec& spec);
// Microseconds of which every multiple begins a stretch with one text of a time: the smallest unit
// of the spec, but of a calendar a day where that is longer.
int64_t TextStep(const Spec& spec);
// The number of bytes a spec always renders to; 0 when it varies.
size_t FixedWidth(const Spec& spec);
// The inverse of AppendTimeSpec: the period that `text` names; of text that recurs, all of time.
// Two-digit years are read as 1970 to 2069. An error when AppendTimeSpec cannot have made it.
Result<TimeRange> ParseTimeSpec(const Spec& spec, std::string_view text);
// The same without a message, for matching many keys.
std::optional<TimeRange> FindPeriod(const Spec& spec, std::string_view text);

// 1 + XXH64(text, seed 0) mod n.
uint32_t Salt(std::string_view text, uint32_t n);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_SPEC_H_

// What stands after the colon in {field:spec} (docs/configuration.md): parsed once, then rendered
// for every event and read back from every key.
//
//   Result<Spec> spec = ParseSpec("%Y%m%d");
//   AppendTimeSpec(*spec, t, &key);             // "20170726"
//   ParseTimeSpec(*spec, "20170726");           // [midnight, next midnight)
//
// All of it is pure and thread-safe. Times are UTC.
#ifndef TALLYD_CONFIG_SCHEMA_SPEC_H_
#define TALLYD_CONFIG_SCHEMA_SPEC_H_

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

// The greatest n of zero(n) and pad(n), and of salt(n): a read fans out over that many ranges.
inline constexpr uint32_t kMaxWidth = 1024;
inline constexpr uint32_t kMaxSalts = 10'000;

// One spec, parsed. `n` is the width of zero and pad, the modulus of salt; `bucket_us` the length
// of a fixed bucket.
struct Spec {
  SpecKind kind = SpecKind::kText;
  uint32_t n = 0;
  int64_t bucket_us = 0;
  std::string format;  // Of kStrftime.
  // What follows is of time specs.
  bool is_time() const { return kind >= SpecKind::kMs && kind <= SpecKind::kStrftime; }
  bool sorts_by_time = false;  // Rendered text ascends (kReverseMs: descends) with time.
  bool bounds_time = false;    // Names the whole period: false for "%H%M", which recurs every day.
  friend bool operator==(const Spec&, const Spec&) = default;
};

// Parses what stands after the colon in {field:spec}. Empty text: kText. Errors name the spec and
// list what is accepted; kUnprocessable: a time that is well formed, but names no fixed periods;
// kTooLarge: a width beyond kMaxWidth.
Result<Spec> ParseSpec(std::string_view text);

// A time spec appends the text of the period that holds `t`, and tells that period [start, end).
// Strings that recur (bounds_time false) tell the smallest unit around `t`.
void AppendTimeSpec(const Spec& spec, TimeUs t, std::string* out);
// The same to where there are FixedWidth bytes. REQUIRES: no calendar (kStrftime).
void WriteTimeDigits(const Spec& spec, TimeUs t, char* to);
TimeRange PeriodOf(const Spec& spec, TimeUs t);
// What the text tells of time, as units of a calendar (CalendarUnit); of buckets nothing.
uint32_t TimeUnitsOf(const Spec& spec);
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

// Parsing of specs, and salts. Times are in config/schema/time_spec.cc.
#include "config/schema/spec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cassert>

#include "config/values/calendar_format.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

struct NamedSpec {
  std::string_view name;
  SpecKind kind;
  std::string_view format;  // Of kStrftime: what the name of a calendar bucket is short for.
};

// With kCounted below, all that a spec can be; messages list them from here.
constexpr NamedSpec kPlain[] = {
    {"ms", SpecKind::kMs, ""},
    {"s", SpecKind::kSeconds, ""},
    {"us", SpecKind::kMicroseconds, ""},
    {"reverse(ms)", SpecKind::kReverseMs, ""},
    {"minute", SpecKind::kStrftime, "%Y%m%d%H%M"},
    {"hour", SpecKind::kStrftime, "%Y%m%d%H"},
    {"day", SpecKind::kStrftime, "%Y%m%d"},
    {"week", SpecKind::kStrftime, "%Gw%V"},
    {"month", SpecKind::kStrftime, "%Y%m"},
    {"year", SpecKind::kStrftime, "%Y"},
    {"reverse_domain", SpecKind::kReverseDomain, ""},
    {"reverse_digits", SpecKind::kReverseDigits, ""},
};

struct CountedSpec {
  std::string_view name;
  SpecKind kind;
  uint32_t max;
};

constexpr CountedSpec kCounted[] = {
    {"zero", SpecKind::kZero, kMaxWidth},
    {"pad", SpecKind::kPad, kMaxWidth},
    {"salt", SpecKind::kSalt, kMaxSalts},
};

std::string Accepted() {
  std::string accepted = "accepted are ";
  for (const NamedSpec& named : kPlain) accepted.append(named.name).append(", ");
  for (const CountedSpec& named : kCounted) accepted.append(named.name).append("(n), ");
  return accepted + "bucket(30m), a strftime format such as %Y%m%d";
}

Error SpecError(std::string_view text, std::string_view what) {
  return Invalid("spec \"" + std::string(text) + "\": " + std::string(what));
}

Result<Spec> ParseBucket(std::string_view text, std::string_view length) {
  const Result<int64_t> us = ParseDuration(length);
  if (!us) return us.error().Prefixed("spec \"" + std::string(text) + "\"");
  if (*us % kUsPerMs != 0 || (kUsPerDay % *us != 0 && *us % kUsPerDay != 0)) {
    return Error(ErrorCode::kUnprocessable,
                 "spec \"" + std::string(text) +
                     "\": a bucket divides a day evenly (30m, 1h, 6h) or is whole days (7d)");
  }
  Spec spec;
  spec.kind = SpecKind::kBucket;
  spec.bucket_us = *us;
  return spec;
}

Result<Spec> ParseCounted(std::string_view text, const CountedSpec& named,
                          std::string_view number) {
  const std::optional<int64_t> n = ParsePlainInteger(number);
  if (!n || *n < 1 || *n > named.max) {
    const Error error =
        SpecError(text, "n is a whole number from 1 to " + std::to_string(named.max));
    const bool is_width = InfoOf(named.kind).padding != Padding::kNone;
    return n && *n > 0 && is_width ? Error(ErrorCode::kTooLarge, error.message()) : error;
  }
  Spec spec;
  spec.kind = named.kind;
  spec.n = static_cast<uint32_t>(*n);
  return spec;
}

Result<Spec> ParseStrftime(std::string_view text) {
  const Result<CalendarTraits> traits = CheckCalendarFormat(text);
  if (!traits) return traits.error().Prefixed("spec");
  Spec spec;
  spec.kind = SpecKind::kStrftime;
  spec.format = text;
  spec.sorts_by_time = traits->sorts;
  spec.bounds_time = traits->bounds;
  return spec;
}

Result<Spec> ParseUnmarked(std::string_view text) {
  for (const NamedSpec& named : kPlain) {
    if (text != named.name) continue;
    if (named.kind == SpecKind::kStrftime) return ParseStrftime(named.format);
    Spec spec;
    spec.kind = named.kind;
    return spec;
  }
  const size_t open = text.find('(');
  if (open != std::string_view::npos && text.back() == ')') {
    const std::string_view name = text.substr(0, open);
    const std::string_view argument = text.substr(open + 1, text.size() - open - 2);
    if (name == "bucket") return ParseBucket(text, argument);
    for (const CountedSpec& named : kCounted) {
      if (name == named.name) return ParseCounted(text, named, argument);
    }
  }
  return SpecError(text, "unknown; " + Accepted());
}

}  // namespace

Result<Spec> ParseSpec(std::string_view text) {
  if (text.empty()) return Spec();
  if (text.find('%') != std::string_view::npos) return ParseStrftime(text);
  Result<Spec> spec = ParseUnmarked(text);
  if (spec && spec->info().digits > 0) spec->sorts_by_time = spec->bounds_time = true;
  return spec;
}

size_t FixedWidth(const Spec& spec) {
  const SpecKindInfo& info = spec.info();
  if (info.digits > 0) return info.digits;
  if (info.padding != Padding::kNone) return spec.n;
  if (info.is_calendar) return CalendarWidth(spec.format);
  return info.is_salt && spec.n < 10 ? 1 : 0;
}

uint32_t Salt(std::string_view text, uint32_t n) {
  assert(n > 0);
  return static_cast<uint32_t>(1 + XXH64(text.data(), text.size(), 0) % n);
}

}  // namespace tallyd

#include "api/influx/write_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "api/endpoint/plain_body.h"
#include "config/file/accepted.h"

namespace tallyd {
namespace {

using Precision = NamedValue<LinePrecision>;

constexpr Precision kOfV1[] = {
    {"n", LinePrecision::kNanoseconds},       {"ns", LinePrecision::kNanoseconds},
    {"u", LinePrecision::kMicroseconds},      {"us", LinePrecision::kMicroseconds},
    {"\xC2\xB5", LinePrecision::kMicroseconds}, {"ms", LinePrecision::kMilliseconds},
    {"s", LinePrecision::kSeconds},           {"m", LinePrecision::kMinutes},
    {"h", LinePrecision::kHours},
};
constexpr Precision kOfV2[] = {
    {"ns", LinePrecision::kNanoseconds},
    {"us", LinePrecision::kMicroseconds},
    {"ms", LinePrecision::kMilliseconds},
    {"s", LinePrecision::kSeconds},
};
constexpr Precision kOfV3[] = {
    {"auto", LinePrecision::kAuto},
    {"nanosecond", LinePrecision::kNanoseconds},
    {"microsecond", LinePrecision::kMicroseconds},
    {"millisecond", LinePrecision::kMilliseconds},
    {"second", LinePrecision::kSeconds},
    {"ns", LinePrecision::kNanoseconds},
    {"n", LinePrecision::kNanoseconds},
    {"us", LinePrecision::kMicroseconds},
    {"u", LinePrecision::kMicroseconds},
    {"ms", LinePrecision::kMilliseconds},
    {"s", LinePrecision::kSeconds},
};

struct DialectTerms {
  std::string_view database;  // The parameter that must be there.
  unsigned status;            // Without it.
  std::string_view missing;
  std::span<const Precision> precisions;
  std::string_view wrong_precision;  // With {} for what came.
  LinePrecision usual;
};

const DialectTerms& TermsOf(InfluxDialect dialect) {
  static constexpr DialectTerms kV1 = {
      "db",  400, "database is required",
      kOfV1, "invalid precision \"{}\" (use n, u, ms, s, m or h)", LinePrecision::kNanoseconds};
  static constexpr DialectTerms kV2 = {
      "bucket", 404, "bucket not found",
      kOfV2,    "invalid precision; valid precision units are ns, us, ms, and s",
      LinePrecision::kNanoseconds};
  static constexpr DialectTerms kV3 = {
      "db", 400, "missing query parameter 'db'",
      kOfV3,
      "invalid precision '{}': it is none of auto, nanosecond, microsecond, millisecond, second",
      LinePrecision::kAuto};
  switch (dialect) {
    case InfluxDialect::kV1:
      return kV1;
    case InfluxDialect::kV2:
      return kV2;
    case InfluxDialect::kV3:
      return kV3;
  }
  return kV1;
}

bool IsFalse(std::string_view text) { return text == "false" || text == "0" || text == "f"; }

}  // namespace

InfluxWriteHead ReadInfluxWriteHead(InfluxDialect dialect, const Request& request,
                                    std::optional<Response>* refusal) {
  InfluxWriteHead head;
  const DialectTerms& terms = TermsOf(dialect);
  head.precision = terms.usual;
  const Result<ContentEncoding> encoding = EncodingOf(request);
  if (!encoding) {
    *refusal = InfluxErrorOf(dialect, encoding.error());
    return head;
  }
  head.encoding = *encoding;
  if (request.params.Get(terms.database).value_or("").empty()) {
    *refusal = InfluxError(dialect, terms.status, terms.missing);
    return head;
  }
  const std::string_view named = request.params.Get("precision").value_or("");
  const auto precision = std::ranges::find(terms.precisions, named, &Precision::name);
  if (precision != terms.precisions.end()) {
    head.precision = precision->value;
  } else if (!named.empty()) {
    *refusal = InfluxError(dialect, 400, fmt::format(fmt::runtime(terms.wrong_precision), named));
    return head;
  }
  head.accepts_partial = dialect != InfluxDialect::kV3 ||
                         !IsFalse(request.params.Get("accept_partial").value_or("true"));
  return head;
}

}  // namespace tallyd

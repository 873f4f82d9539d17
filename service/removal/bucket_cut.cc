#include "service/removal/bucket_cut.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

namespace tallyd {
namespace {

// Whole numbers below are taken for seconds, where they are bounds.
constexpr TimeUs kLeastPlain = 100'000'000'000 * kUsPerMs;

// The lengths of the spans that one cell of the table holds, in the order of its families.
std::vector<int64_t> SpansOf(const Table& table, const TableInfo& stored) {
  std::vector<int64_t> spans;
  for (const StoredFamily& family : stored.families) {
    if (family.rules.aggregate && family.rules.bucket_us) spans.push_back(*family.rules.bucket_us);
  }
  if (table.flush_us) spans.push_back(*table.flush_us);
  return spans;
}

// 0: it is longer than all of time.
int64_t Common(int64_t a, int64_t b) {
  if (a == 0) return 0;
  const int64_t times = b / std::gcd(a, b);
  return times > kMaxTimeUs / a ? 0 : a * times;
}

bool IsCut(const TimeRange& range, int64_t span) {
  return range.from % span != 0 || (range.to <= kMaxTimeUs && range.to % span != 0);
}

std::string Bound(const char* name, TimeUs time) {
  if (time >= kLeastPlain && time % kUsPerMs == 0) {
    return fmt::format("{}={}", name, time / kUsPerMs);
  }
  return fmt::format("{}={}", name, FormatRfc3339(time));
}

std::string Text(const TimeRange& range) {
  std::string text = range.from > 0 ? Bound("from", range.from) : std::string();
  if (range.to <= kMaxTimeUs) {
    if (!text.empty()) text += '&';
    text += Bound("to", range.to);
  }
  return text.empty() ? "neither from nor to" : text;
}

}  // namespace

bool AddsUp(const Table& table, const TableInfo& stored) {
  return HasAggregates(stored) || table.flush_us.has_value();
}

void BucketCut::Add(const Table& table, const TableInfo& stored) {
  for (const int64_t span : SpansOf(table, stored)) period_ = Common(period_, span);
}

std::optional<std::string> BucketCut::Why(const Table& table, const TableInfo& stored) const {
  for (const int64_t span : SpansOf(table, stored)) {
    if (!IsCut(range_, span)) continue;
    int64_t own = 1;
    for (const int64_t each : SpansOf(table, stored)) own = Common(own, each);
    const int64_t period = period_ != 0 ? period_ : own;
    return fmt::format(
        "the range cuts buckets of {} of table {}, whose cells hold what all events of a bucket "
        "came to{}; or aggregates=keep leaves it as it is",
        FormatDuration(span), table.name, period == 0 ? std::string() : ": " + Bounds(period));
  }
  return std::nullopt;
}

std::string BucketCut::Bounds(int64_t period) const {
  const bool is_open = range_.to > kMaxTimeUs;
  const TimeRange outer{range_.from / period * period,
                        is_open ? range_.to : (range_.to + period - 1) / period * period};
  const TimeRange inner{(range_.from + period - 1) / period * period,
                        is_open ? range_.to : range_.to / period * period};
  std::string text = "give " + Text(outer) + ", which takes all of each";
  if (inner.from < inner.to) text += ", or " + Text(inner) + ", which takes none in part";
  return text;
}

}  // namespace tallyd

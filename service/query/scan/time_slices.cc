#include "service/query/scan/time_slices.h"

#include <algorithm>
#include <utility>

#include "service/query/ask/ranges_within.h"

namespace tallyd {
namespace {

// What has no index is counted a few times so far, for each look.
constexpr uint64_t kCountAtMost = 256;
constexpr int kMostLooks = 48;
constexpr double kLeastShare = 0.02;

// One range from the first key to the last: to look at each of many costs more than it tells.
std::vector<KeyRange> HullOf(const ScanInput& input, const TimeRange& time) {
  const Result<std::vector<KeyRange>> ranges = RangesWithin(*input.plan, input.unit, time);
  if (!ranges || ranges->empty()) return {KeyRange{}};
  return {{ranges->front().start, ranges->back().end}};
}

}  // namespace

TimeSlices::TimeSlices(const ScanInput& input, const TimeRange& time, bool descends)
    : input_(input),
      descends_(descends),
      left_{std::max<TimeUs>(time.from, 0), std::min(time.to, kMaxTimeUs + 1)},
      hull_(HullOf(input, left_)) {}

TimeRange TimeSlices::Slice(int64_t width) const {
  const int64_t fits = std::min(width, left_.to - left_.from);
  return descends_ ? TimeRange{left_.to - fits, left_.to}
                   : TimeRange{left_.from, left_.from + fits};
}

Result<uint64_t> TimeSlices::EntriesIn(int64_t width) {
  const EstimateSpec spec = {
      .ranges = hull_, .cells = Slice(width), .rows_only = true, .count_at_most = kCountAtMost};
  const Result<ScanEstimate> estimate = input_.store->Estimate(input_.stored, spec);
  if (!estimate) return estimate.error();
  return static_cast<uint64_t>(static_cast<double>(estimate->entries) * share_);
}

// The widest that has no more than so many, or one with at least half as many: by halving between
// one that has too few and one that has too many.
Result<TimeRange> TimeSlices::Next(uint64_t most_entries) {
  const int64_t all = left_.to - left_.from;
  int64_t few = 0;
  int64_t many = all;
  int64_t tried = width_ > 0 ? std::min(width_, all) : all;
  uint64_t of_few = 0;
  for (int look = 0; look < kMostLooks; ++look) {
    const Result<uint64_t> entries = EntriesIn(tried);
    if (!entries) return entries.error();
    if (*entries <= most_entries) {
      few = tried;
      of_few = *entries;
      if (few == all || 2 * *entries > most_entries) break;
    } else {
      many = tried;
    }
    if (many - few <= 1) break;
    // Up to the first that has too many it grows by leaps, from what the last slice was.
    const bool leaps = many == all && few > 0 && few < all / 8;
    tried = leaps ? few * 4 : few + (many - few) / 2;
  }
  width_ = few > 0 ? few : many;
  expected_ = few > 0 ? of_few : most_entries;
  const TimeRange slice = Slice(width_);
  (descends_ ? left_.to : left_.from) = descends_ ? slice.from : slice.to;
  return slice;
}

// Keys that the query does not ask for lie between those that it does, and are counted with them.
void TimeSlices::Took(uint64_t entries) {
  if (expected_ < kCountAtMost && entries < kCountAtMost) return;
  const double found = static_cast<double>(entries + 1) / static_cast<double>(expected_ + 1);
  share_ = std::clamp(share_ * std::clamp(found, 0.25, 4.0), kLeastShare, 1.0);
}

void TimeSlices::GoBackTo(TimeUs time) {
  if (descends_) {
    width_ = std::max<int64_t>((left_.to + width_ - time) / 2, 1);
    left_.to = time + 1;
  } else {
    width_ = std::max<int64_t>((time - (left_.from - width_)) / 2, 1);
    left_.from = time;
  }
}

}  // namespace tallyd

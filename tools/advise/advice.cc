#include "tools/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tallyd {
namespace {

constexpr double kSimplicity = 1.25;  // How much better what is less simple has to be.
constexpr double kWeightOfWrites = 0.5;

double Ratio(double value, double best) { return std::max(value, 1e-9) / std::max(best, 1e-9); }

struct Best {
  double bytes;
  double range_ms;
  double events_per_s;
};

// 1 is the best in everything; twice the bytes or twice the time is 2.
double PriceOf(const TrialResult& result, const Best& best) {
  return Ratio(result.bytes_per_event, best.bytes) * Ratio(result.entity_range_ms, best.range_ms) *
         std::pow(Ratio(best.events_per_s, result.events_per_s), kWeightOfWrites);
}

}  // namespace

Advice Advise(const std::vector<TrialResult>& results) {
  std::vector<const TrialResult*> tried;
  const TrialResult* latest = nullptr;
  for (const TrialResult& result : results) {
    if (!result.refused.empty()) continue;
    if (result.pattern == "latest") {
      latest = &result;
    } else {
      tried.push_back(&result);
    }
  }
  Best best{tried[0]->bytes_per_event, tried[0]->entity_range_ms, tried[0]->events_per_s};
  for (const TrialResult* result : tried) {
    best.bytes = std::min(best.bytes, result->bytes_per_event);
    best.range_ms = std::min(best.range_ms, result->entity_range_ms);
    best.events_per_s = std::max(best.events_per_s, result->events_per_s);
  }
  const TrialResult* chosen = tried[0];
  for (const TrialResult* result : tried) {
    if (PriceOf(*result, best) * kSimplicity < PriceOf(*chosen, best)) chosen = result;
  }
  Advice advice{chosen->pattern, ""};
  advice.reason = fmt::format(
      "{} takes {:.1f} bytes an event (the least of all is {:.1f}) and reads one entity in {:.2f} "
      "ms "
      "(the fastest in {:.2f} ms)",
      chosen->pattern, chosen->bytes_per_event, best.bytes, chosen->entity_range_ms, best.range_ms);
  if (chosen->pattern.ends_with("-serialized")) {
    advice.reason += "; a read of a few fields fetches all of them";
  }
  if (chosen == tried[0]) {
    advice.reason += "; no other is better by enough to be worth more than the simplest";
  }
  if (latest != nullptr) {
    advice.reason += fmt::format(
        ". The latest of all takes {:.2f} ms from it and {:.2f} ms from a table of latest values, "
        "so "
        "one stands beside it",
        chosen->latest_ms, latest->latest_ms);
  }
  return advice;
}

}  // namespace tallyd

#include "service/points/series_aggregation.h"

#include "service/query/steps/percentile.h"

namespace tallyd {
namespace {

std::vector<Aggregation> KeptFor(const SeriesAggregationInfo& info) {
  if (info.per_mille > 0 || !info.of_steps) return {};  // Percentiles are told of the numbers.
  return {*info.of_steps};
}

}  // namespace

Result<SeriesAggregation> ParseSeriesAggregation(std::string_view name) {
  std::string names;
  for (size_t i = 0; i < kSeriesAggregations.size(); ++i) {
    if (kSeriesAggregations[i].name == name) return static_cast<SeriesAggregation>(i);
    names.append(names.empty() ? "" : ", ").append(kSeriesAggregations[i].name);
  }
  return Invalid("No such aggregator: '" + std::string(name) + "'; there are " + names);
}

SeriesFold::SeriesFold(SeriesAggregation aggregation)
    : info_(InfoOf(aggregation)),
      empty_([this] {
        Accumulators one(KeptFor(info_));
        one.Grow(1);
        return one;
      }()),
      sums_(empty_) {}

Value SeriesFold::Of(std::span<Value> numbers) {
  if (numbers.empty()) return Value();
  if (numbers.size() == 1 && info_.keeps_one) return numbers.front();
  if (info_.per_mille > 0) {
    SortNumbers(numbers);
    return Quantile(numbers, info_.per_mille, 1000);
  }
  sums_ = empty_;
  TimeUs place = 0;  // The order alone tells first from last.
  for (const Value& number : numbers) sums_.Add(0, place++, number);
  return sums_.Get(0, *info_.of_steps);
}

}  // namespace tallyd

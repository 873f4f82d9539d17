// SeriesQuestion: what is asked of the series of one metric, whoever asks.
//
// A series is the events of a stream that agree in all tags: the fields of the row keys, and
// labels. A metric is a field that is measured: its points are the numbers of the series' events.
// What is asked is done in this order: each series is downsampled, rates are told of it, and then
// series that agree in the tags that group are joined.
#ifndef TALLYD_SERVICE_POINTS_SERIES_QUESTION_H_
#define TALLYD_SERVICE_POINTS_SERIES_QUESTION_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "service/points/series_aggregation.h"
#include "service/points/series_steps.h"
#include "service/points/tag_filter.h"

namespace tallyd {

struct MetricField {
  std::string stream;
  std::string field;
  friend bool operator==(const MetricField&, const MetricField&) = default;
};

// What stands in steps that have no point, from the first step of the range to the last.
struct StepFill {
  bool fills = false;
  Value value;  // A number; null: a blank, which counts nowhere, and keeps a place in the answer.
  friend bool operator==(const StepFill&, const StepFill&) = default;
};

struct SeriesDownsample {
  SeriesSteps steps = SeriesSteps::Of(kUsPerSecond);
  SeriesAggregation aggregation = SeriesAggregation::kAvg;
  StepFill fill;
  friend bool operator==(const SeriesDownsample&, const SeriesDownsample&) = default;
};

// What a series grew a second, from each point to the next, at whose time it stands.
struct SeriesRate {
  bool counts = false;        // It is of a counter: where it falls, it began again behind its end.
  Value counter_end;          // The greatest number that the counter has. Null: that of int64.
  double largest = 0;         // A rate over such an end that is greater is told as 0; 0: none is.
  bool drops_resets = false;  // Where it falls nothing is told.
  friend bool operator==(const SeriesRate&, const SeriesRate&) = default;
};

using SeriesTags = std::vector<std::pair<std::string, std::string>>;  // By name, in byte order.

struct SeriesQuestion {
  MetricField metric;
  std::vector<SeriesTags> only;    // Those that have exactly these tags; empty: any.
  std::vector<TagFilter> filters;  // All must want the series.
  bool explicit_tags = false;      // Only series that have these tags and no others.
  TimeRange time;                  // Points of it; with downsampling in whole steps.
  // The newest point of each series alone, at its own time: of the stream's latest table, whatever
  // its time, where one tells all tags; else of its events in `time`. Then nothing below matters.
  bool newest = false;
  std::optional<SeriesDownsample> downsample;
  std::optional<SeriesRate> rate;
  SeriesAggregation joined_by = SeriesAggregation::kSum;
  // Points of a series within one such time become one, by `joined_by`, as far as that makes of one
  // point the same; by `none` and `count` the last remains, by `dev` their average.
  int64_t resolution_us = kUsPerSecond;

  friend bool operator==(const SeriesQuestion&, const SeriesQuestion&) = default;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_SERIES_QUESTION_H_

// Accumulators: many small sums, extremes and ends, side by side; only what is asked for is kept.
//
//   Accumulators all(aggregations, step_us);
//   all.Grow(2);  all.Add(0, time, value);  all.Absorb(0, another, 1);
//   all.Follow(1, 0);  all.Finish();  all.Get(0, Aggregation::kSum)
//
// Percentiles keep every number, and growth minds the order of values
// (service/query/steps/growth.h).
#ifndef TALLYD_SERVICE_QUERY_STEPS_ACCUMULATORS_H_
#define TALLYD_SERVICE_QUERY_STEPS_ACCUMULATORS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/values/aggregate.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "service/query/ask/aggregation.h"
#include "service/query/steps/growth.h"
#include "storage/scan.h"

namespace tallyd {

// Which values that follow each other go to which accumulators; none takes no value.
struct RunSteps {
  std::vector<size_t> indexes;
  std::vector<uint32_t> counts;  // By index.
};

class Accumulators {
 public:
  // `step_us`: over what a rate is told.
  explicit Accumulators(const std::vector<Aggregation>& aggregations,
                        int64_t step_us = kUsPerSecond);

  // What one accumulator takes, and what the numbers that were kept take beside it.
  size_t bytes_each() const;
  size_t sample_bytes() const { return sample_bytes_; }
  size_t size() const { return size_; }
  void Grow(size_t count);  // By so many, empty.

  void Add(size_t index, TimeUs time, const Value& value);
  // Of as many values as there are times, from `begin` on: counts[i] of them, behind those before,
  // to the accumulator indexes[i]. `ascends`: each time is greater than the one before it.
  void AddRun(const RunSteps& steps, const EntryTimes& times, bool ascends, const ColumnData& data,
              size_t begin);
  // What `later`, of the same aggregations, has at its `from`, of rows later in key order.
  void Absorb(size_t index, const Accumulators& later, size_t from);
  // False: values came in an order that some growth could not be told from.
  bool in_order() const { return in_order_; }
  // The growth at `index` is told since the last value of that at `before`, an earlier step. Once.
  void Follow(size_t index, size_t before);
  bool HasNumber(size_t index) const { return !growths_.empty() && !growths_[index].is_empty(); }
  // All has been added: percentiles can be told.
  void Finish();
  // Null where nothing was added that counts.
  Value Get(size_t index, Aggregation aggregation) const;

 private:
  // What is a decimal of few digits, as most floats that were measured are, is added up exactly:
  // neither the order of values shows nor how they are stored.
  struct Sum {
    Int128 integers = 0;
    Int128 decimals = 0;      // In units of 10^-kSumScale.
    double floats = 0;        // Others.
    double compensation = 0;  // Neumaier's.
    uint64_t numbers = 0;
    bool has_float = false;  // Of either sort.

    double Total() const;
  };
  // Welford's count, mean and sum of squared differences from the mean.
  struct Spread {
    uint64_t numbers = 0;
    long double mean = 0;
    long double squares = 0;
  };
  struct End {
    TimeUs time = 0;
    Value value;
  };

  bool Keeps(Aggregation aggregation) const { return keeps_[static_cast<size_t>(aggregation)]; }
  void AddEnds(const RunSteps& steps, const EntryTimes& times, const ColumnData& data,
               size_t begin);
  void AddSums(const RunSteps& steps, std::span<const int64_t> numbers, const ColumnData& data);
  void AddExtremes(const RunSteps& steps, std::span<const int64_t> numbers, const ColumnData& data);
  void AddSamples(size_t index, std::span<const Value> numbers);
  static void AddSum(const Value& value, Sum* sum);
  void AddSpread(size_t index, const Value& value);
  static void AbsorbSpread(const Spread& later, Spread* spread);
  static Value StddevOf(const Spread& spread);
  static void AddFloat(double added, Sum* sum);
  void AddEnd(size_t index, TimeUs time, const Value& value, bool is_first);

  // By Aggregation; of those that keep the same the first has it.
  std::array<bool, kAggregations.size()> keeps_ = {};
  int64_t step_us_;
  bool needs_order_ = false;
  bool in_order_ = true;
  size_t size_ = 0;
  std::vector<uint64_t> counts_;
  std::vector<Sum> sums_;
  std::vector<Spread> spreads_;
  std::vector<Growth> growths_;
  std::vector<std::vector<Value>> samples_;
  size_t sample_bytes_ = 0;
  std::vector<Value> minima_;
  std::vector<Value> maxima_;
  std::vector<End> firsts_;
  std::vector<End> lasts_;
  std::unordered_map<size_t, std::string> first_texts_;  // Of the ends that are text.
  std::unordered_map<size_t, std::string> last_texts_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_ACCUMULATORS_H_

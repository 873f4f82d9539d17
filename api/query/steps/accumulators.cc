#include "api/query/steps/accumulators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/query/steps/exact.h"
#include "api/query/steps/percentile.h"

namespace tallyd {
namespace {

// Several aggregations are made of the same.
Aggregation KeptFor(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kAvg:
    case Aggregation::kSum:
      return Aggregation::kSum;
    case Aggregation::kRate:
    case Aggregation::kIncrease:
    case Aggregation::kDelta:
      return Aggregation::kIncrease;
    case Aggregation::kP50:
    case Aggregation::kP99:
      return Aggregation::kP50;
    default:
      return aggregation;
  }
}

void Lower(Value* minimum, const Value& value) {
  if (minimum->is_null() || Exactly(value) < Exactly(*minimum)) *minimum = value;
}

void Raise(Value* maximum, const Value& value) {
  if (maximum->is_null() || Exactly(value) > Exactly(*maximum)) *maximum = value;
}

}  // namespace

Accumulators::Accumulators(const std::vector<Aggregation>& aggregations, int64_t step_us)
    : step_us_(step_us) {
  for (const Aggregation aggregation : aggregations) {
    keeps_[static_cast<size_t>(KeptFor(aggregation))] = true;
    needs_order_ = needs_order_ || FollowsSteps(aggregation);
  }
}

size_t Accumulators::bytes_each() const {
  const auto bytes = [&](Aggregation aggregation, size_t size) {
    return Keeps(aggregation) ? size : 0;
  };
  return bytes(Aggregation::kCount, sizeof(uint64_t)) + bytes(Aggregation::kSum, sizeof(Sum)) +
         bytes(Aggregation::kMin, sizeof(Value)) + bytes(Aggregation::kMax, sizeof(Value)) +
         bytes(Aggregation::kFirst, sizeof(End)) + bytes(Aggregation::kLast, sizeof(End)) +
         bytes(Aggregation::kStddev, sizeof(Spread)) +
         bytes(Aggregation::kIncrease, sizeof(Growth)) +
         bytes(Aggregation::kP50, sizeof(std::vector<Value>));
}

void Accumulators::Grow(size_t count) {
  size_ += count;
  if (Keeps(Aggregation::kCount)) counts_.resize(size_);
  if (Keeps(Aggregation::kSum)) sums_.resize(size_);
  if (Keeps(Aggregation::kMin)) minima_.resize(size_);
  if (Keeps(Aggregation::kMax)) maxima_.resize(size_);
  if (Keeps(Aggregation::kFirst)) firsts_.resize(size_);
  if (Keeps(Aggregation::kLast)) lasts_.resize(size_);
  if (Keeps(Aggregation::kStddev)) spreads_.resize(size_);
  if (Keeps(Aggregation::kIncrease)) growths_.resize(size_);
  if (Keeps(Aggregation::kP50)) samples_.resize(size_);
}

void Accumulators::Add(size_t index, TimeUs time, const Value& value) {
  if (!counts_.empty()) ++counts_[index];
  if (!firsts_.empty()) AddEnd(index, time, value, true);
  if (!lasts_.empty()) AddEnd(index, time, value, false);
  if (!value.is_number()) return;
  if (!sums_.empty()) AddSum(index, value);
  if (!spreads_.empty()) AddSpread(index, value);
  if (!growths_.empty() && !growths_[index].Add(time, value))
    in_order_ = in_order_ && !needs_order_;
  if (!samples_.empty()) AddSamples(index, {&value, 1});
  if (!minima_.empty()) Lower(&minima_[index], value);
  if (!maxima_.empty()) Raise(&maxima_[index], value);
}

void Accumulators::AddSamples(size_t index, std::span<const Value> numbers) {
  std::vector<Value>& samples = samples_[index];
  const size_t before = samples.capacity();
  samples.insert(samples.end(), numbers.begin(), numbers.end());
  sample_bytes_ += (samples.capacity() - before) * sizeof(Value);
}

// What compares numbers of one kind and scale needs only the extremes of them.
void Accumulators::AddRun(size_t index, std::span<const TimeUs> times, const ColumnData& data,
                          size_t begin) {
  const bool by_extremes =
      data.kind == ColumnData::Kind::kInt || data.kind == ColumnData::Kind::kDecimal;
  const bool takes_each = !firsts_.empty() || !lasts_.empty() || !sums_.empty() ||
                          !spreads_.empty() || !growths_.empty() || !samples_.empty();
  if (!by_extremes || takes_each) {
    for (size_t i = 0; i < times.size(); ++i) Add(index, times[i], data.At(begin + i));
    return;
  }
  if (!counts_.empty()) counts_[index] += times.size();
  if (minima_.empty() && maxima_.empty()) return;
  const auto numbers = std::span(data.numbers).subspan(begin, times.size());
  const auto value_of = [&](int64_t number) {
    return data.kind == ColumnData::Kind::kInt ? Value::Int(number)
                                               : Value::Decimal(number, data.scale);
  };
  if (!minima_.empty()) Lower(&minima_[index], value_of(std::ranges::min(numbers)));
  if (!maxima_.empty()) Raise(&maxima_[index], value_of(std::ranges::max(numbers)));
}

void Accumulators::AddSum(size_t index, const Value& value) {
  Sum& sum = sums_[index];
  ++sum.numbers;
  if (value.type() == ValueType::kInt64) {
    sum.integers += value.AsInt();
    return;
  }
  AddFloat(value.AsDouble(), &sum);
}

// B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
// Technometrics 4 (1962): no difference of large squares, whose digits would cancel. A long double
// holds each number exactly, so values far from zero and close together lose nothing.
void Accumulators::AddSpread(size_t index, const Value& value) {
  Spread& spread = spreads_[index];
  const long double number = Exactly(value);
  const long double from_old_mean = number - spread.mean;
  spread.mean += from_old_mean / static_cast<long double>(++spread.numbers);
  spread.squares += from_old_mean * (number - spread.mean);
}

// T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
// sample variances" (1979).
void Accumulators::AbsorbSpread(const Spread& later, Spread* spread) {
  if (later.numbers == 0) return;
  const auto before = static_cast<long double>(spread->numbers);
  const auto added = static_cast<long double>(later.numbers);
  const long double apart = later.mean - spread->mean;
  spread->numbers += later.numbers;
  spread->mean += apart * (added / (before + added));
  spread->squares += later.squares + apart * apart * (before * added / (before + added));
}

void Accumulators::AddFloat(double added, Sum* sum) {
  sum->has_float = true;
  const double total = sum->floats + added;
  sum->compensation += std::fabs(sum->floats) >= std::fabs(added) ? (sum->floats - total) + added
                                                                  : (added - total) + sum->floats;
  sum->floats = total;
}

void Accumulators::Absorb(size_t index, const Accumulators& later, size_t from) {
  if (!counts_.empty()) counts_[index] += later.counts_[from];
  if (!sums_.empty()) {
    const Sum& sum = later.sums_[from];
    sums_[index].integers += sum.integers;
    sums_[index].numbers += sum.numbers;
    if (sum.has_float) AddFloat(sum.floats, &sums_[index]);
    sums_[index].compensation += sum.compensation;
  }
  if (!spreads_.empty()) AbsorbSpread(later.spreads_[from], &spreads_[index]);
  if (!growths_.empty() && !growths_[index].Absorb(later.growths_[from])) {
    in_order_ = in_order_ && !needs_order_;
  }
  in_order_ = in_order_ && later.in_order_;
  if (!samples_.empty()) AddSamples(index, later.samples_[from]);
  if (!minima_.empty() && !later.minima_[from].is_null()) {
    Lower(&minima_[index], later.minima_[from]);
  }
  if (!maxima_.empty() && !later.maxima_[from].is_null()) {
    Raise(&maxima_[index], later.maxima_[from]);
  }
  if (!firsts_.empty() && !later.firsts_[from].value.is_null()) {
    AddEnd(index, later.firsts_[from].time, later.firsts_[from].value, true);
  }
  if (!lasts_.empty() && !later.lasts_[from].value.is_null()) {
    AddEnd(index, later.lasts_[from].time, later.lasts_[from].value, false);
  }
}

// Of events of one time the earlier in key order is the first, the later the last.
void Accumulators::AddEnd(size_t index, TimeUs time, const Value& value, bool is_first) {
  End& end = is_first ? firsts_[index] : lasts_[index];
  const bool replaces = end.value.is_null() || (is_first ? time < end.time : time >= end.time);
  if (!replaces) return;
  end = {time, value};
  if (value.type() != ValueType::kString && value.type() != ValueType::kBytes) return;
  std::string& text = (is_first ? first_texts_ : last_texts_)[index];
  text.assign(value.AsView());
  end.value = value.type() == ValueType::kString ? Value::String(text) : Value::Bytes(text);
}

// Of the population, not of a sample of it: of one number it is 0.
Value Accumulators::StddevOf(const Spread& spread) {
  if (spread.numbers == 0) return Value();
  const long double variance = spread.squares / static_cast<long double>(spread.numbers);
  return FiniteOrNull(static_cast<double>(std::sqrt(variance)));
}

void Accumulators::Follow(size_t index, size_t before) { growths_[index].Follow(growths_[before]); }

void Accumulators::Finish() {
  for (std::vector<Value>& samples : samples_) SortNumbers(samples);
}

Value Accumulators::Get(size_t index, Aggregation aggregation) const {
  switch (aggregation) {
    case Aggregation::kCount:
      return counts_[index] == 0 ? Value() : Value::Int(static_cast<int64_t>(counts_[index]));
    case Aggregation::kMin:
      return minima_[index];
    case Aggregation::kMax:
      return maxima_[index];
    case Aggregation::kFirst:
      return firsts_[index].value;
    case Aggregation::kLast:
      return lasts_[index].value;
    case Aggregation::kStddev:
      return StddevOf(spreads_[index]);
    case Aggregation::kRate:
      return growths_[index].PerSecond(step_us_);
    case Aggregation::kIncrease:
      return growths_[index].Total();
    case Aggregation::kDelta:
      return growths_[index].LastLessFirst();
    case Aggregation::kP50:
      return Percentile(samples_[index], 50);
    case Aggregation::kP99:
      return Percentile(samples_[index], 99);
    case Aggregation::kAvg:
    case Aggregation::kSum:
      break;
  }
  const Sum& sum = sums_[index];
  if (sum.numbers == 0) return Value();
  const double floats = sum.floats + sum.compensation;
  const double all = static_cast<double>(sum.integers) + floats;
  if (aggregation == Aggregation::kAvg) return FiniteOrNull(all / sum.numbers);
  const bool fits = sum.integers >= std::numeric_limits<int64_t>::min() &&
                    sum.integers <= std::numeric_limits<int64_t>::max();
  if (!sum.has_float && fits) return Value::Int(static_cast<int64_t>(sum.integers));
  return FiniteOrNull(all);
}

}  // namespace tallyd

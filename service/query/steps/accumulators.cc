#include "service/query/steps/accumulators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "config/values/integers.h"
#include "service/query/steps/exact.h"
#include "service/query/steps/percentile.h"

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
  if (minimum->is_null() || IsLess(value, *minimum)) *minimum = value;
}

void Raise(Value* maximum, const Value& value) {
  if (maximum->is_null() || IsLess(*maximum, value)) *maximum = value;
}

constexpr unsigned kSumScale = 7;  // A sum of 2^32 mantissas in such units fits 128 bits.
constexpr int64_t kPowersOfTen[kSumScale + 1] = {1,      10,      100,       1'000,
                                                 10'000, 100'000, 1'000'000, 10'000'000};
constexpr Int128 kExactInDouble = Int128{1} << 53;

// The units that a double stands for where it is a decimal of at most 15 digits, kSumScale of them
// behind the point: the same as if it had come as one. A double is at most one such decimal, and
// what rounding adds to the product is less than half of one.
std::optional<Int128> UnitsOf(double number) {
  const double size = std::fabs(number);
  unsigned scale = kSumScale;
  double bound = 1e8;
  for (; scale > 0 && size >= bound; --scale) bound *= 10;
  if (size >= bound) return std::nullopt;
  const auto power = static_cast<double>(kPowersOfTen[scale]);
  const auto mantissa = static_cast<int64_t>(std::nearbyint(number * power));
  if (static_cast<double>(mantissa) / power != number) return std::nullopt;
  return Int128{mantissa} * kPowersOfTen[kSumScale - scale];
}

// How many of such numbers come to an int64, whichever they are.
size_t SmallSums(std::span<const int64_t> numbers, const ColumnData& data) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (data.kind == ColumnData::Kind::kDecimal) return kMost / Value::kMaxMantissa;
  const Extremes extremes = ExtremesOf(numbers);
  if (extremes.least < -kMost) return 0;
  return static_cast<size_t>(kMost / std::max({-extremes.least, extremes.greatest, int64_t{1}}));
}

bool IsOfIntegers(const ColumnData& data) {
  return data.kind == ColumnData::Kind::kInt ||
         (data.kind == ColumnData::Kind::kDecimal && data.scale <= kSumScale);
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
  if (!sums_.empty()) AddSum(value, &sums_[index]);
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

// Numbers of one kind and scale are added up, and compared, as the integers they are stored as.
void Accumulators::AddRun(const RunSteps& steps, const EntryTimes& times, bool ascends,
                          const ColumnData& data, size_t begin) {
  const bool has_ends = !firsts_.empty() || !lasts_.empty();
  const bool takes_each = (has_ends && !ascends) || !spreads_.empty() || !growths_.empty() ||
                          !samples_.empty() || !IsOfIntegers(data);
  if (takes_each) {
    size_t at = 0;
    for (size_t i = 0; i < steps.counts.size(); ++i) {
      for (const size_t end = at + steps.counts[i]; at < end; ++at) {
        Add(steps.indexes[i], times[at], data.At(begin + at));
      }
    }
    return;
  }
  const auto numbers = std::span(data.numbers).subspan(begin, times.size());
  if (!counts_.empty()) {
    for (size_t i = 0; i < steps.counts.size(); ++i) counts_[steps.indexes[i]] += steps.counts[i];
  }
  if (has_ends) AddEnds(steps, times, data, begin);
  if (!sums_.empty()) AddSums(steps, numbers, data);
  if (!minima_.empty() || !maxima_.empty()) AddExtremes(steps, numbers, data);
}

// REQUIRES: times that ascend.
void Accumulators::AddEnds(const RunSteps& steps, const EntryTimes& times, const ColumnData& data,
                           size_t begin) {
  size_t at = 0;
  for (size_t i = 0; i < steps.counts.size(); ++i) {
    const size_t last = at + steps.counts[i] - 1;
    if (!firsts_.empty()) AddEnd(steps.indexes[i], times[at], data.At(begin + at), true);
    if (!lasts_.empty()) AddEnd(steps.indexes[i], times[last], data.At(begin + last), false);
    at = last + 1;
  }
}

void Accumulators::AddExtremes(const RunSteps& steps, std::span<const int64_t> numbers,
                               const ColumnData& data) {
  thread_local std::vector<int64_t> extremes;
  extremes.resize(steps.counts.size());
  const auto value_of = [&](int64_t number) {
    return data.kind == ColumnData::Kind::kInt ? Value::Int(number)
                                               : Value::Decimal(number, data.scale);
  };
  if (!minima_.empty()) {
    LeastOfEach(numbers, steps.counts, extremes.data());
    for (size_t i = 0; i < extremes.size(); ++i) {
      Lower(&minima_[steps.indexes[i]], value_of(extremes[i]));
    }
  }
  if (!maxima_.empty()) {
    GreatestOfEach(numbers, steps.counts, extremes.data());
    for (size_t i = 0; i < extremes.size(); ++i) {
      Raise(&maxima_[steps.indexes[i]], value_of(extremes[i]));
    }
  }
}

void Accumulators::AddSum(const Value& value, Sum* sum) {
  ++sum->numbers;
  if (value.type() == ValueType::kInt64) {
    sum->integers += value.AsInt();
    return;
  }
  sum->has_float = true;
  if (value.is_decimal() && value.scale() <= kSumScale) {
    sum->decimals += Int128{value.mantissa()} * kPowersOfTen[kSumScale - value.scale()];
  } else if (const auto units = UnitsOf(value.AsDouble())) {
    sum->decimals += *units;
  } else {
    AddFloat(value.AsDouble(), sum);
  }
}

void Accumulators::AddSums(const RunSteps& steps, std::span<const int64_t> numbers,
                           const ColumnData& data) {
  thread_local std::vector<int64_t> small;
  const bool are_small = std::ranges::max(steps.counts) <= SmallSums(numbers, data);
  if (are_small) {
    small.resize(steps.counts.size());
    SumEach(numbers, steps.counts, small.data());
  }
  const bool are_decimals = data.kind == ColumnData::Kind::kDecimal;
  const int64_t units = are_decimals ? kPowersOfTen[kSumScale - data.scale] : 1;
  Int128 Sum::*const total = are_decimals ? &Sum::decimals : &Sum::integers;
  const auto add = [&](size_t step, Int128 added) {
    Sum& sum = sums_[steps.indexes[step]];
    sum.numbers += steps.counts[step];
    sum.has_float |= are_decimals;
    sum.*total += added;
  };
  if (are_small) {
    for (size_t i = 0; i < small.size(); ++i) add(i, Int128{small[i]} * units);  // One instruction.
    return;
  }
  size_t at = 0;
  for (size_t i = 0; i < steps.counts.size(); at += steps.counts[i++]) {
    add(i, SumOf(numbers.subspan(at, steps.counts[i])) * units);
  }
}

// The nearest double while the units are fewer than 2^53, and next to it from there on.
double Accumulators::Sum::Total() const {
  if (!has_float) return static_cast<double>(integers);
  const Int128 units = integers * kPowersOfTen[kSumScale] + decimals;
  const bool is_small = units > -kExactInDouble && units < kExactInDouble;
  if (floats == 0 && compensation == 0 && is_small) {
    return static_cast<double>(units) / static_cast<double>(kPowersOfTen[kSumScale]);
  }
  const long double exact =
      static_cast<long double>(units) / static_cast<long double>(kPowersOfTen[kSumScale]);
  return static_cast<double>(exact + floats + compensation);
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
    sums_[index].decimals += sum.decimals;
    sums_[index].numbers += sum.numbers;
    sums_[index].has_float = sums_[index].has_float || sum.has_float;
    AddFloat(sum.floats, &sums_[index]);
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
  const double all = sum.Total();
  if (aggregation == Aggregation::kAvg) {
    return FiniteOrNull(all / static_cast<double>(sum.numbers));
  }
  const bool fits = sum.integers >= std::numeric_limits<int64_t>::min() &&
                    sum.integers <= std::numeric_limits<int64_t>::max();
  if (!sum.has_float && fits) return Value::Int(static_cast<int64_t>(sum.integers));
  return FiniteOrNull(all);
}

}  // namespace tallyd

// What becomes of the steps when all events are in: growth goes on from step to step, the greatest
// groups are kept, and gaps are filled. The rest of Downsampler is in downsample.cc.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "service/query/steps/downsample.h"
#include "service/query/steps/exact.h"
#include "service/query/steps/fill_gaps.h"

namespace tallyd {
namespace {

// The values of so many filled steps at once, of all groups and columns.
constexpr size_t kMaxFilled = 5'000'000;
constexpr uint64_t kFilledSlotBytes = 64;

Error TooManyGaps() {
  return Error(ErrorCode::kUnprocessable,
               "fill: too many steps, groups and fields come out; ask for a shorter time, a longer "
               "step, fewer fields or fewer groups");
}

}  // namespace

void Downsampler::SortByGroup() {
  std::ranges::sort(order_, {},
                    [&](size_t slot) { return std::tuple(slots_[slot].group, slots_[slot].step); });
}

void Downsampler::FollowSteps() {
  SortByGroup();
  const size_t fields = spec_.fields.size();
  std::vector<std::optional<size_t>> before(fields);
  for (size_t i = 0; i < order_.size(); ++i) {
    const bool begins = i == 0 || slots_[order_[i]].group != slots_[order_[i - 1]].group;
    for (size_t field = 0; field < fields; ++field) {
      const size_t index = order_[i] * fields + field;
      if (begins) before[field].reset();
      if (!accumulators_.HasNumber(index)) continue;
      if (before[field]) accumulators_.Follow(index, *before[field]);
      before[field] = index;
    }
  }
}

// Of groups with equal values the first in their order is kept; one without a number is not.
void Downsampler::KeepTop() {
  std::vector<Value> greatest(group_values_.size());
  for (const size_t slot : order_) {
    const Value value = ValueOf(slot, spec_.top_field);
    Value& most = greatest[slots_[slot].group];
    if (!value.is_number()) continue;
    if (most.is_null() || Exactly(value) > Exactly(most)) most = value;
  }
  std::vector<uint32_t> groups;
  for (uint32_t group = 0; group < greatest.size(); ++group) {
    if (!greatest[group].is_null()) groups.push_back(group);
  }
  std::ranges::sort(groups, [&](uint32_t a, uint32_t b) {
    const long double first = Exactly(greatest[a]);
    const long double second = Exactly(greatest[b]);
    return first != second ? first > second : *group_texts_[a] < *group_texts_[b];
  });
  groups.resize(std::min(groups.size(), spec_.top));
  std::vector<bool> is_kept(greatest.size());
  for (const uint32_t group : groups) is_kept[group] = true;
  std::erase_if(order_, [&](size_t slot) { return !is_kept[slots_[slot].group]; });
}

Downsampler::StepSpan Downsampler::SpanOf(std::span<const size_t> slots) const {
  if (spec_.fill_range) {
    const TimeRange& range = *spec_.fill_range;
    if (range.is_empty()) return {};
    return {range.from / spec_.step_us, (range.to - 1) / spec_.step_us};
  }
  return {slots_[slots.front()].step, slots_[slots.back()].step};
}

// The values of the group's steps, column by column, behind what is in filled_.
void Downsampler::FillGroup(std::span<const size_t> slots, const StepSpan& span, Filled* filled) {
  const size_t columns = columns_each();
  const size_t begin = filled->values.size();
  filled->values.resize(begin + span.size() * columns);
  std::vector<Value> values;
  for (size_t column = 0; column < columns; ++column) {
    values.assign(span.size(), Value());
    for (const size_t slot : slots) {
      values[static_cast<size_t>(slots_[slot].step - span.first)] = ValueOf(slot, column);
    }
    FillGaps(spec_.fill, values);
    for (size_t i = 0; i < values.size(); ++i) {
      filled->values[begin + i * columns + column] = values[i];
    }
  }
}

// A step without any value is as empty as one that no event is in.
Status Downsampler::FillSteps() {
  std::erase_if(order_, [&](size_t slot) {
    for (size_t column = 0; column < columns_each(); ++column) {
      if (!ValueOf(slot, column).is_null()) return false;
    }
    return true;
  });
  SortByGroup();
  Filled filled;
  const auto fill = [&](std::span<const size_t> slots, uint32_t group) -> Status {
    const StepSpan span = SpanOf(slots);
    const size_t room = (kMaxFilled - filled.values.size()) / columns_each();
    if (span.size() > room) return TooManyGaps();
    const uint64_t values = filled.values.size() + span.size() * columns_each();
    const uint64_t gaps = 2 * values * sizeof(Value) + filled.slots.size() * kFilledSlotBytes;
    if (!charge_.Covers(bytes() + gaps)) return charge_.refusal();
    FillGroup(slots, span, &filled);
    for (size_t i = 0; i < span.size(); ++i) {
      filled.slots.push_back({span.first + static_cast<int64_t>(i), group});
    }
    return {};
  };
  if (columns_each() > 0) {
    for (size_t begin = 0; begin < order_.size();) {
      const uint32_t group = slots_[order_[begin]].group;
      size_t end = begin;
      while (end < order_.size() && slots_[order_[end]].group == group) ++end;
      const Status status = fill(std::span(order_).subspan(begin, end - begin), group);
      if (!status) return status;
      begin = end;
    }
    // Where there are no groups to tell apart, there is one even where nothing was found.
    if (order_.empty() && spec_.fill_range && by_ids_.empty()) {
      if (Status status = fill({}, GroupOf("", {})); !status) return status;
    }
  }
  slots_ = std::move(filled.slots);
  filled_ = std::move(filled.values);
  is_filled_ = true;
  order_.resize(slots_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  return {};
}

}  // namespace tallyd

#include "service/query/steps/downsample.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "config/values/integers.h"

namespace tallyd {
namespace {

constexpr size_t kMaxAccumulators = 5'000'000;
constexpr size_t kMaxAccumulatorBytes = 192u << 20;
// Steps that lie so much farther apart are compared and not counted.
constexpr uint64_t kStepsPerSlot = 2;
// A slot, its place in the index and in the order; and what a group takes beside its texts.
constexpr uint64_t kSlotBytes = 128;
constexpr uint64_t kGroupBytes = 256;

const Value* Find(std::span<const EventField> event, uint32_t field) {
  for (const EventField& candidate : event) {
    if (candidate.field == field) return &candidate.value;
  }
  return nullptr;
}

Error TooManySlots() {
  return Error(ErrorCode::kUnprocessable,
               "too many steps, groups and fields at once; ask for a shorter time, a longer step, "
               "fewer fields or fewer groups");
}

// Of each text its place among all of them in order.
std::vector<uint32_t> RanksOf(std::span<const std::string* const> texts) {
  std::vector<uint32_t> order(texts.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return *texts[a] < *texts[b]; });
  std::vector<uint32_t> ranks(texts.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

// Stable, by numbers below `range`: those of each are counted.
template <class Item, class NumberOf>
void SortByNumber(size_t range, NumberOf number_of, std::vector<Item>* items) {
  std::vector<uint32_t> places(range + 1);
  for (const Item& item : *items) ++places[number_of(item) + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<Item> sorted(items->size());
  for (const Item& item : *items) sorted[places[number_of(item)]++] = item;
  items->swap(sorted);
}

// How many times, from the one at `begin` on, are before `limit`, which that one is. `guess`:
// perhaps so many, as steps of regular times have as many each. REQUIRES: times that ascend.
size_t CountBelow(const EntryTimes& times, size_t begin, TimeUs limit, size_t guess) {
  const size_t left = times.size() - begin;
  const bool is_right = guess > 0 && guess <= left && times[begin + guess - 1] < limit &&
                        (guess == left || times[begin + guess] >= limit);
  if (is_right) return guess;
  size_t reach = 1;
  while (reach < left && times[begin + reach] < limit) reach *= 2;
  size_t from = reach / 2;
  size_t to = std::min(reach, left);
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (times[begin + middle] < limit) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

// How many of the times each step has that begins and ends among them; 0: not all as many.
size_t EvenlyInEach(const EntryTimes& times, int64_t step_us) {
  const bool are_even = times.are_even() && times.step() > 0 && step_us % times.step() == 0;
  return are_even ? static_cast<size_t>(step_us / times.step()) : 0;
}

// How many, from the one at `begin` on, are in [from, from + width), which that one is.
size_t CountWithin(const EntryTimes& times, size_t begin, TimeUs from, int64_t width) {
  size_t end = begin + 1;
  while (end < times.size() && times[end] >= from && times[end] - from < width) ++end;
  return end - begin;
}

// Appends the text so that no other value's is the same and all keep their order: none, the empty
// text, then the others. No zero byte is in it, and none is the end of another.
void AppendGroupText(const Value& value, std::string* out) {
  if (value.is_null()) return;
  const size_t before = out->size();
  AppendText(value, out);
  if (out->size() == before) return out->push_back('\1');
  for (size_t i = before; i < out->size(); ++i) {
    char& byte = (*out)[i];
    if (byte > '\1' || byte < '\0') continue;
    const char escaped = byte == '\0' ? '\1' : '\2';
    byte = '\1';
    out->insert(++i, 1, escaped);
  }
}

}  // namespace

Downsampler::Downsampler(DownsampleSpec spec, FieldTable* fields)
    : spec_(std::move(spec)),
      charge_(spec_.memory),
      accumulators_(spec_.aggregations, spec_.step_us) {
  for (const std::string& field : spec_.by) {
    by_ids_.push_back(fields->Add(field));
    by_columns_.push_back(columns_.Add(field));
  }
  for (size_t i = 0; i < spec_.fields.size(); ++i) {
    const uint32_t id = fields->Add(spec_.fields[i]);
    if (id >= field_index_.size()) field_index_.resize(id + 1, -1);
    field_index_[id] = static_cast<int>(i);
  }
  most_slots_ = MostSlots();
  // Vectors grow by leaps, and are copied for it.
  slot_bytes_ = kSlotBytes + spec_.fields.size() * accumulators_.bytes_each() * 3 / 2;
}

// Groups are told apart, and ordered, by the text of their values; a zero byte ends each.
uint32_t Downsampler::GroupOf(std::span<const EventField> event) {
  group_text_.clear();
  group_.clear();
  for (const uint32_t id : by_ids_) {
    const Value* value = Find(event, id);
    group_.push_back(value != nullptr ? *value : Value());
    AppendGroupText(group_.back(), &group_text_);
    group_text_.push_back('\0');
  }
  return GroupOf(group_text_, group_);
}

uint32_t Downsampler::GroupOf(const std::string& text, std::span<const Value> values) {
  if (by_ids_.empty() && !group_values_.empty()) return 0;
  const auto it = groups_.find(text);
  if (it != groups_.end()) return it->second;
  const auto group = static_cast<uint32_t>(group_values_.size());
  std::vector<Value>& kept = group_values_.emplace_back(values.begin(), values.end());
  for (Value& value : kept) {
    if (value.type() == ValueType::kString) {
      value = Value::String(owned_.emplace_back(value.AsView()));
    } else if (value.type() == ValueType::kBytes) {
      value = Value::Bytes(owned_.emplace_back(value.AsView()));
    }
  }
  group_texts_.push_back(&owned_.emplace_back(text));
  group_bytes_ += kGroupBytes + 3 * text.size() + values.size() * sizeof(Value);
  groups_.emplace(text, group);
  return group;
}

bool Downsampler::FindSlot(const Slot& slot) {
  uint32_t* const known = slot_index_.Find(slot.group, slot.step);
  if (*known != StepIndex::kNone) {
    last_slot_ = *known;
    return true;
  }
  if (slots_.size() >= most_slots_) return false;
  last_slot_ = slots_.size();
  *known = static_cast<uint32_t>(last_slot_);
  slots_.push_back(slot);
  return true;
}

size_t Downsampler::MostSlots() const {
  const size_t bytes_each = std::max(accumulators_.bytes_each(), size_t{1});
  const size_t most = std::min(kMaxAccumulators, kMaxAccumulatorBytes / bytes_each);
  return most / spec_.shares / std::max(spec_.fields.size(), size_t{1});
}

// To those of all slots.
void Downsampler::GrowAccumulators() {
  const size_t wanted = slots_.size() * spec_.fields.size();
  if (wanted > accumulators_.size()) accumulators_.Grow(wanted - accumulators_.size());
}

Status Downsampler::CheckRoom() {
  if (!charge_.Covers(bytes())) return charge_.refusal();
  if (accumulators_.sample_bytes() <= kMaxAccumulatorBytes / spec_.shares) return {};
  return Error(
      ErrorCode::kUnprocessable,
      "percentiles hold every number, and these are too many; ask for a shorter time, fewer "
      "fields or, by filters, fewer events");
}

Status Downsampler::Add(TimeUs time, std::span<const EventField> event) {
  std::optional<size_t> slot;
  for (const EventField& field : event) {
    const int index = field.field < field_index_.size() ? field_index_[field.field] : -1;
    if (index < 0 || field.value.is_null()) continue;
    if (!slot) {
      if (!UseSlot({time / spec_.step_us, GroupOf(event)})) return TooManySlots();
      slot = last_slot_;
      GrowAccumulators();
    }
    accumulators_.Add(*slot * spec_.fields.size() + static_cast<size_t>(index), time, field.value);
  }
  return CheckRoom();
}

Status Downsampler::AddRun(std::span<const EventField> key_fields, uint32_t field,
                           const RunColumn& column) {
  const EntryTimes& times = column.times;
  const auto index = static_cast<size_t>(field_index_[field]);
  const uint32_t group = GroupOf(key_fields);
  const bool ascends = column.times_ascend || times.Ascend();
  run_steps_.indexes.clear();
  run_steps_.counts.clear();
  const size_t each = ascends ? EvenlyInEach(times, spec_.step_us) : 0;
  int64_t step = 0;
  TimeUs from = std::numeric_limits<TimeUs>::min();
  size_t count = 0;
  for (size_t begin = 0; begin < times.size(); begin += count) {
    // Mostly it is the next one, and a division takes as long as some additions of values.
    const TimeUs time = times[begin];
    const bool is_next =
        time >= from + spec_.step_us && time - spec_.step_us < from + spec_.step_us;
    step = is_next ? step + 1 : time / spec_.step_us;
    from = step * spec_.step_us;
    count = ascends ? CountBelow(times, begin, from + spec_.step_us, count)
                    : CountWithin(times, begin, from, spec_.step_us);
    if (!AddStep({step, group}, index, count)) return TooManySlots();
    for (; each > 0 && times.size() - begin - count >= each; count += each) {
      if (!AddStep({++step, group}, index, each)) return TooManySlots();
    }
    from = step * spec_.step_us;
  }
  GrowAccumulators();
  accumulators_.AddRun(run_steps_, times, ascends, *column.data, column.begin);
  return CheckRoom();
}

Status Downsampler::Absorb(const Downsampler& later) {
  spec_.shares = 1;
  most_slots_ = MostSlots();
  std::vector<uint32_t> groups;
  for (size_t i = 0; i < later.group_values_.size(); ++i) {
    groups.push_back(GroupOf(*later.group_texts_[i], later.group_values_[i]));
  }
  std::vector<size_t> slots;
  slots.reserve(later.slots_.size());
  for (const Slot& slot : later.slots_) {
    if (!UseSlot({slot.step, groups[slot.group]})) return TooManySlots();
    slots.push_back(last_slot_);
  }
  if (Status fits = CheckRoom(); !fits) return fits;
  GrowAccumulators();
  const size_t fields = spec_.fields.size();
  for (size_t i = 0; i < slots.size(); ++i) {
    for (size_t field = 0; field < fields; ++field) {
      accumulators_.Absorb(slots[i] * fields + field, later.accumulators_, i * fields + field);
    }
  }
  return CheckRoom();
}

void Downsampler::Clear() {
  slot_index_.Clear();
  slots_.clear();
  last_slot_ = 0;
  accumulators_ = Accumulators(spec_.aggregations, spec_.step_us);
  charge_.Clear();
}

Status Downsampler::Finish() {
  NameColumns();
  accumulators_.Finish();
  order_.resize(slots_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (std::ranges::any_of(spec_.aggregations, FollowsSteps)) FollowSteps();
  if (spec_.top > 0) KeepTop();
  if (spec_.fill != Fill::kNone) {
    if (Status status = FillSteps(); !status) return status;
  }
  const auto key = [&](size_t slot) {
    return GroupKeyView{slots_[slot].step * spec_.step_us, *group_texts_[slots_[slot].group]};
  };
  const GroupLess less{spec_.descending};
  if (spec_.start) {
    const GroupKeyView start{spec_.start->time, spec_.start->tie};
    std::erase_if(order_, [&](size_t slot) { return !less(start, key(slot)); });
  }
  SortByTime();
  row_.resize(spec_.by.size() + value_columns_.size());
  return {};
}

// By ranks: to compare the texts of groups for each pair of steps takes several times as long.
void Downsampler::SortByTime() {
  struct Place {
    int64_t step;
    uint32_t rank;
    size_t slot;
  };
  const std::vector<uint32_t> ranks = RanksOf(group_texts_);
  std::vector<Place> places;
  places.reserve(order_.size());
  for (const size_t slot : order_) {
    places.push_back({slots_[slot].step, ranks[slots_[slot].group], slot});
  }
  const auto comes_before = [&](const Place& a, const Place& b) {
    const Place& first = spec_.descending ? b : a;
    const Place& second = spec_.descending ? a : b;
    return first.step != second.step ? first.step < second.step : first.rank < second.rank;
  };
  // Those of one group mostly came in order.
  if (std::ranges::is_sorted(places, comes_before)) return;
  const auto [least, greatest] = std::ranges::minmax(places, {}, &Place::step);
  const uint64_t apart = static_cast<uint64_t>(greatest.step) - static_cast<uint64_t>(least.step);
  if (apart < kStepsPerSlot * places.size()) {
    const uint32_t last = static_cast<uint32_t>(ranks.size()) - 1;
    SortByNumber(
        ranks.size(),
        [&](const Place& place) { return spec_.descending ? last - place.rank : place.rank; },
        &places);
    SortByNumber(
        apart + 1,
        [&](const Place& place) {
          return static_cast<size_t>(spec_.descending ? greatest.step - place.step
                                                      : place.step - least.step);
        },
        &places);
  } else {
    std::ranges::sort(places, comes_before);
  }
  for (size_t i = 0; i < places.size(); ++i) order_[i] = places[i].slot;
}

void Downsampler::NameColumns() {
  for (const std::string& field : spec_.fields) {
    for (const Aggregation aggregation : spec_.aggregations) {
      const std::string suffixed = field + ":" + std::string(ToString(aggregation));
      const bool plain = spec_.aggregations.size() == 1 && columns_.Find(field) < 0;
      value_columns_.push_back(columns_.Add(plain ? field : suffixed));
    }
  }
}

Result<bool> Downsampler::Next() {
  while (next_row_ < order_.size()) {
    FillRow(order_[next_row_++]);
    if (is_filled_ || event_.fields.size() > spec_.by.size()) return true;
  }
  return false;
}

// A field without a value is left out; a step that has none at all is no row, unless gaps are
// filled.
void Downsampler::FillRow(size_t slot) {
  EventField* end = row_.data();
  const std::vector<Value>& group = group_values_[slots_[slot].group];
  for (size_t i = 0; i < group.size(); ++i) *end++ = {by_columns_[i], group[i]};
  const uint32_t* column = value_columns_.data();
  for (size_t field = 0; field < spec_.fields.size(); ++field) {
    for (size_t place = 0; place < spec_.aggregations.size(); ++place, ++column) {
      const Value value = ValueAt(slot, field, place);
      if (!value.is_null()) *end++ = {*column, value};
    }
  }
  event_ = {slots_[slot].step * spec_.step_us, {row_.data(), end}};
}

EventPosition Downsampler::Position() const {
  const Slot& slot = slots_[order_[next_row_ - 1]];
  return {slot.step * spec_.step_us, *group_texts_[slot.group], 1};
}

}  // namespace tallyd

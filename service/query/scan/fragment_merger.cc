#include "service/query/scan/fragment_merger.h"

#include <algorithm>

namespace tallyd {
namespace {

const EventField* Find(const std::vector<EventField>& event, uint32_t field) {
  const auto it = std::find_if(event.begin(), event.end(),
                               [&](const EventField& other) { return other.field == field; });
  return it == event.end() ? nullptr : &*it;
}

bool Contradicts(const std::vector<EventField>& event, std::span<const EventField> fragment) {
  return std::any_of(fragment.begin(), fragment.end(), [&](const EventField& field) {
    const EventField* const other = Find(event, field.field);
    return other != nullptr && SaysOtherwise(other->value, field.value);
  });
}

}  // namespace

std::vector<EventField>& FragmentMerger::NewEvent() {
  if (count_ == events_.size()) {
    events_.emplace_back();
    times_.emplace_back();
  }
  events_[count_].clear();
  times_[count_].clear();
  return events_[count_++];
}

void FragmentMerger::Add(std::span<const EventField> fragment) {
  for (size_t i = 0; i < count_; ++i) {
    if (Contradicts(events_[i], fragment)) continue;
    for (const EventField& field : fragment) {
      if (Find(events_[i], field.field) == nullptr) events_[i].push_back(field);
    }
    return;
  }
  NewEvent().assign(fragment.begin(), fragment.end());
}

void FragmentMerger::AddMissing(std::span<const EventField> fragment, TimeUs time, size_t event) {
  for (const EventField& field : fragment) {
    if (Find(events_[event], field.field) != nullptr) continue;
    events_[event].push_back(field);
    times_[event].push_back(time);
  }
}

void FragmentMerger::AddFirstWins(std::span<const EventField> fragment, TimeUs time) {
  if (count_ == 0) NewEvent();
  AddMissing(fragment, time, 0);
}

void FragmentMerger::AddBesideFirst(std::span<const EventField> fragment, TimeUs time) {
  NewEvent().assign(fragment.begin(), fragment.end());
  const size_t event = count_ - 1;
  times_[event].assign(fragment.size(), time);
  for (size_t i = 0; i < events_[0].size(); ++i) {
    AddMissing(std::span(events_[0]).subspan(i, 1), times_[0][i], event);
  }
  first_is_shared_ = true;
}

void FragmentMerger::AppendTo(std::vector<std::span<const EventField>>* events) const {
  for (size_t i = first_is_shared_ ? 1 : 0; i < count_; ++i) events->emplace_back(events_[i]);
}

void FragmentMerger::AppendTimesTo(std::vector<std::span<const TimeUs>>* times) const {
  for (size_t i = first_is_shared_ ? 1 : 0; i < count_; ++i) times->emplace_back(times_[i]);
}

}  // namespace tallyd

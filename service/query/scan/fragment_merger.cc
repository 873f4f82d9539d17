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

bool OwnsText(const Value& value) {
  return value.type() == ValueType::kString || value.type() == ValueType::kBytes;
}

}  // namespace

std::vector<EventField>& FragmentMerger::NewEvent() {
  if (count_ == events_.size()) events_.emplace_back();
  events_[count_].clear();
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

void FragmentMerger::AddFirstWins(std::span<const EventField> fragment) {
  std::vector<EventField>& event = count_ == 0 ? NewEvent() : events_[0];
  for (const EventField& field : fragment) {
    if (Find(event, field.field) == nullptr) event.push_back(field);
  }
}

void FragmentMerger::AddBesideFirst(std::span<const EventField> fragment) {
  std::vector<EventField>& event = NewEvent();
  event.assign(fragment.begin(), fragment.end());
  for (const EventField& field : events_[0]) {
    if (Find(event, field.field) == nullptr) event.push_back(field);
  }
  first_is_shared_ = true;
}

void FragmentMerger::AppendTo(std::vector<std::span<const EventField>>* events) const {
  for (size_t i = first_is_shared_ ? 1 : 0; i < count_; ++i) events->emplace_back(events_[i]);
}

size_t HeldEvents::Append(std::span<const EventField> fragment, std::vector<EventField>* event) {
  size_t added = 0;
  size_t text_bytes = 0;
  for (const EventField& field : fragment) {
    if (Find(*event, field.field) != nullptr) continue;
    event->push_back(field);
    ++added;
    if (OwnsText(field.value)) text_bytes += field.value.AsView().size();
  }
  if (text_bytes > 0) {
    texts_.push_back(std::make_unique_for_overwrite<char[]>(text_bytes));
    char* to = texts_.back().get();
    for (size_t i = event->size() - added; i < event->size(); ++i) {
      Value& value = (*event)[i].value;
      if (!OwnsText(value)) continue;
      const std::string_view text = value.AsView();
      text.copy(to, text.size());  // An empty one may be nowhere.
      const std::string_view copy(to, text.size());
      value = value.type() == ValueType::kString ? Value::String(copy) : Value::Bytes(copy);
      to += text.size();
    }
  }
  const size_t bytes = added * sizeof(EventField) + text_bytes;
  bytes_ += bytes;
  return bytes;
}

size_t HeldEvents::Add(std::span<const EventField> fragment) {
  for (std::vector<EventField>& event : events_) {
    if (!Contradicts(event, fragment)) return Append(fragment, &event);
  }
  return AddEvent(fragment);
}

size_t HeldEvents::AddEvent(std::span<const EventField> fragment) {
  events_.emplace_back().reserve(fragment.size());
  bytes_ += sizeof(std::vector<EventField>);
  return sizeof(std::vector<EventField>) + Append(fragment, &events_.back());
}

size_t HeldEvents::AddFirstWins(std::span<const EventField> fragment) {
  if (events_.empty()) return Add(fragment);
  return Append(fragment, &events_.front());
}

void HeldEvents::AppendTo(std::vector<std::span<const EventField>>* events) const {
  for (const std::vector<EventField>& event : events_) events->emplace_back(event);
}

}  // namespace tallyd

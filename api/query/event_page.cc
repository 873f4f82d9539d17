#include "api/query/event_page.h"

#include <algorithm>
#include <cstring>

namespace tallyd {
namespace {

constexpr size_t kTextChunk = 64u << 10;

}  // namespace

void EventPage::BeginEvent(TimeUs time) {
  events_.push_back({time, fields_.size()});
  bytes_ += sizeof(Stored);
}

void EventPage::Add(const EventField& field) {
  if (field.field >= met_.size()) met_.resize(field.field + 1);
  met_[field.field] = true;
  fields_.push_back(field);
  bytes_ += sizeof(EventField);
  Value& value = fields_.back().value;
  if (value.type() == ValueType::kString) value = Value::String(Copy(value.AsView()));
  if (value.type() == ValueType::kBytes) value = Value::Bytes(Copy(value.AsView()));
}

std::string_view EventPage::Copy(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > free_bytes_) {
    free_bytes_ = std::max(kTextChunk, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
    free_ = chunks_.back().get();
    bytes_ += free_bytes_;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view copy(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return copy;
}

EventView EventPage::event(size_t i) const {
  const size_t end = i + 1 < events_.size() ? events_[i + 1].first : fields_.size();
  const size_t first = events_[i].first;
  return {events_[i].time, std::span(fields_).subspan(first, end - first)};
}

}  // namespace tallyd

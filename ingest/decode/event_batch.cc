#include "ingest/decode/event_batch.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kChunkBytes = 64u << 10;
// Memory beyond this is given back by Clear: one huge request must not stay with its connection.
constexpr size_t kKeptValues = 1u << 18;

constexpr size_t kKeptParts = 16;

constexpr size_t kShownBytes = 200;

}  // namespace

std::string Shown(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  size_t size = kShownBytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size)) + "...";
}

const Value* Event::Find(std::string_view field) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (FieldOf(i) == field) return &values[i];
  }
  return nullptr;
}

void EventErrors::Add(size_t index, Refusal refusal) {
  ++count_;
  if (kept_.size() < kMaxKept) kept_.push_back({std::move(refusal), index});
}

void EventErrors::Merge(const EventErrors& other) {
  std::vector<EventError> merged;
  std::ranges::merge(kept_, other.kept_, std::back_inserter(merged), {}, &EventError::index,
                     &EventError::index);
  if (merged.size() > kMaxKept) merged.resize(kMaxKept);
  kept_ = std::move(merged);
  count_ += other.count_;
}

void EventErrors::Clear() {
  count_ = 0;
  kept_.clear();
}

void EventBatch::Clear() {
  events_.clear();
  values_.clear();
  places_.clear();
  digits_.clear();
  if (values_.capacity() > kKeptValues) {
    values_.shrink_to_fit();
    places_.shrink_to_fit();
    digits_.shrink_to_fit();
    events_.shrink_to_fit();
  }
  event_begin_ = 0;
  *next_index_ = 0;
  if (!arena_.empty() && arena_.front().capacity() <= kChunkBytes) {
    arena_.erase(arena_.begin() + 1, arena_.end());
    arena_.front().clear();
  } else {
    arena_.clear();
  }
  owned_shapes_.clear();
  errors_.Clear();
  warnings_.clear();
}

void EventBatch::BeginEvent() { event_begin_ = values_.size(); }

std::string_view EventBatch::Copy(std::string_view text) {
  if (arena_.empty() || arena_.back().capacity() - arena_.back().size() < text.size()) {
    arena_.emplace_back().reserve(std::max(kChunkBytes, text.size()));
  }
  std::string& chunk = arena_.back();
  const size_t begin = chunk.size();
  chunk.append(text);
  return std::string_view(chunk).substr(begin);
}

void EventBatch::EndEvent(const Shape* shape, std::span<const uint16_t> places) {
  assert(values_.size() - event_begin_ == (places.empty() ? shape->fields.size() : places.size()));
  events_.push_back(
      {(*next_index_)++, shape, event_begin_, places.empty() ? kNone : places_.size()});
  places_.insert(places_.end(), places.begin(), places.end());
}

void EventBatch::EndEvent(std::unique_ptr<const Shape> shape) {
  EndEvent(shape.get());
  owned_shapes_.push_back(std::move(shape));
}

void EventBatch::ForgetEvent() {
  values_.resize(event_begin_);
  while (!digits_.empty() && digits_.back().first >= event_begin_) digits_.pop_back();
}

std::string_view Event::DigitsOf(size_t place) const {
  if (batch == nullptr) return {};
  const auto at = is_choice() ? std::ranges::find(places, place) - places.begin()
                              : static_cast<std::ptrdiff_t>(place);
  if (at == std::ssize(values)) return {};
  return batch->DigitsOf(values[static_cast<size_t>(at)]);
}

std::string_view EventBatch::DigitsOf(const Value& value) const {
  const auto index = static_cast<size_t>(&value - values_.data());
  const auto found = std::ranges::lower_bound(
      digits_, index, {}, &std::pair<size_t, std::string_view>::first);
  return found != digits_.end() && found->first == index ? found->second : std::string_view();
}

void EventBatch::DropEvent(Refusal refusal) {
  ForgetEvent();
  errors_.Add((*next_index_)++, std::move(refusal));
}

void EventBatch::Break(size_t index, std::string detail) {
  Clear();
  errors_.Add(index, {{}, std::move(detail)});
  *next_index_ = 1;
}

size_t EventBatch::bytes() const {
  size_t bytes = events_.capacity() * sizeof(Stored) + values_.capacity() * sizeof(Value) +
                 places_.capacity() * sizeof(uint16_t) +
                 digits_.capacity() * sizeof(digits_.front());
  for (const std::string& chunk : arena_) bytes += chunk.capacity();
  return bytes;
}

Event EventBatch::event(size_t i) const {
  const Stored& stored = events_[i];
  const size_t end = i + 1 < events_.size() ? events_[i + 1].first : values_.size();
  const std::span<const Value> values =
      std::span(values_).subspan(stored.first, end - stored.first);
  Event event{stored.index, stored.shape, values, {}, this};
  if (stored.first_place != kNone) {
    event.places = std::span(places_).subspan(stored.first_place, values.size());
  }
  return event;
}

void RequestEvents::Clear() {
  for (Part& part : std::span(parts_).first(used_)) part.events->Clear();
  // A request of many streams must not stay with its connection.
  if (parts_.size() > kKeptParts) parts_.resize(kKeptParts);
  used_ = 0;
  next_index_ = 0;
  errors_.Clear();
}

size_t RequestEvents::bytes() const {
  size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.events->bytes();
  return bytes;
}

EventBatch& RequestEvents::Of(std::string_view stream) {
  for (Part& part : std::span(parts_).first(used_)) {
    if (part.stream == stream) return *part.events;
  }
  if (used_ == parts_.size()) parts_.push_back({{}, std::make_unique<EventBatch>(&next_index_)});
  parts_[used_].stream = stream;
  return *parts_[used_++].events;
}

}  // namespace tallyd
